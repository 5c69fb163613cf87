import { Column, Entity, PrimaryColumn } from 'typeorm';
import { AuditEntity } from './audit.entity.js';

/** An API key's row, for the drift check. */
@Entity('api_keys')
export class ApiKeyEntity {
  @PrimaryColumn('text') id!: string;
  @Column('bytea') hash!: Buffer;
  @Column('text') name!: string;
  @Column('text') organisation!: string;
  @Column('text') subject!: string;
  @Column('text', { array: true }) scopes!: string[];
  @Column('text', { array: true, nullable: true }) agents!: string[] | null;
  @Column('boolean', { name: 'acts_for_others', default: false }) actsForOthers!: boolean;
  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' }) createdAt!: Date;
  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true }) expiresAt!: Date | null;
  @Column({ type: 'timestamptz', name: 'revoked_at', precision: 3, nullable: true }) revokedAt!: Date | null;
}

export const AUTH_ENTITIES = [ApiKeyEntity, AuditEntity];
