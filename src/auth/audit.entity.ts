import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A record of the audit log, for the drift check. */
@Entity('audit_log')
export class AuditEntity {
  @PrimaryGeneratedColumn('increment', { type: 'bigint' }) id!: string;
  @Column({ type: 'timestamptz', precision: 3 }) at!: Date;
  @Column('text') act!: string;
  @Column('text', { nullable: true }) organisation!: string | null;
  @Column('text', { nullable: true }) subject!: string | null;
  @Column('jsonb') details!: object;
}
