import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A task's row. The store writes by hand-written SQL; the entity holds the drift check and serves admin reads. */
@Entity('tasks')
export class TaskEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') organisation!: string;
  @Column('text') owner!: string;
  @Column('text') agent!: string;
  @Column('text', { name: 'context_id' }) contextId!: string;
  @Column('boolean', { default: false }) direct!: boolean;
  @Column('smallint') state!: number;
  @Column({ type: 'timestamptz', name: 'status_at', precision: 3 }) statusAt!: Date;
  @Column('bigint') version!: string;
  @Column('json', { nullable: true }) snapshot!: object | null;
  @Column('bigint', { name: 'snapshot_seq', default: 0 }) snapshotSeq!: string;
  @Column('bigint', { name: 'inbox_seq' }) inboxSeq!: string;
  @Column('bigint', { name: 'read_seq', default: 0 }) readSeq!: string;
  @Column('text', { name: 'lease_holder', nullable: true }) leaseHolder!: string | null;
  @Column('bigint', { name: 'lease_token' }) leaseToken!: string;
  @Column('bigint', { name: 'lease_writes', default: 0 }) leaseWrites!: string;
  @Column('timestamptz', { name: 'lease_until', nullable: true }) leaseUntil!: Date | null;
  @Column('integer', { default: 1 }) attempt!: number;
  @Column('integer', { default: 0 }) handovers!: number;
  @Column('bigint', { name: 'inbox_bytes', default: 0 }) inboxBytes!: string;
  @Column('timestamptz', { name: 'cancel_requested_at', nullable: true }) cancelRequestedAt!: Date | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('boolean', { default: false }) push!: boolean;
  /** TypeORM compares defaults without their casts. */
  @Column('bigint', { default: () => '((pg_current_xact_id()))' }) changed!: string;
  @Column('boolean', { default: false }) compacted!: boolean;
  @Column('text', { name: 'agent_version', nullable: true }) agentVersion!: string | null;
}

/** One event of a task's log. */
@Entity('task_events')
export class TaskEventEntity {
  @PrimaryColumn('uuid', { name: 'task_id' }) taskId!: string;
  @PrimaryColumn('bigint') seq!: string;
  @Column('json') payload!: object;
  @Column('json', { nullable: true }) request!: object | null;
  @Column('uuid', { name: 'message_key', nullable: true }) messageKey!: string | null;
  @Column('uuid', { name: 'message_hash', nullable: true }) messageHash!: string | null;
  @Column('timestamptz', { name: 'recorded_at', default: () => 'now()' }) recordedAt!: Date;
}

/** The receipt of an erasure. */
@Entity('erasures')
export class ErasureEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column({ type: 'timestamptz', name: 'erased_at', precision: 3, default: () => 'now()' }) erasedAt!: Date;
  @Column('text', { name: 'subject_digest' }) subjectDigest!: string;
  @Column('text') by!: string;
  @Column('bigint') tasks!: string;
  @Column('bigint') events!: string;
  @Column('bigint', { name: 'push_configs' }) pushConfigs!: string;
}

export const TASK_ENTITIES = [TaskEntity, TaskEventEntity, ErasureEntity];
