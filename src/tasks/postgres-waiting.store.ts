import { Injectable } from '@nestjs/common';
import { Postgres } from '../database/index.js';
import { WAITING } from './postgres-task.sql.js';
import { TaskStore } from './task.store.js';
import { type WaitingQuery, WaitingStore, type WaitingTask } from './waiting.store.js';

const LIST = `
  SELECT id, status_at FROM tasks
  WHERE ${WAITING} AND NOT direct
    AND ($1::text IS NULL OR agent = $1)
    AND ($2::text IS NULL OR organisation = $2)
    AND ($3::smallint IS NULL OR state = $3)
    AND ($4::timestamptz IS NULL OR (status_at, id) > ($4, $5::uuid))
  ORDER BY status_at, id LIMIT $6`;

/** Finds waiting tasks by an index of their own, then reads each. */
@Injectable()
export class PostgresWaitingStore extends WaitingStore {
  constructor(
    private readonly postgres: Postgres,
    private readonly store: TaskStore,
  ) {
    super();
  }

  async waiting({ agent, organisation, state, after, limit }: WaitingQuery): Promise<WaitingTask[]> {
    const since = after && new Date(after.since);
    const { rows } = await this.postgres.query<{ id: string; status_at: Date }>({
      text: LIST,
      values: [agent, organisation, state, since, after?.id, limit],
    });
    const tasks = await Promise.all(rows.map(({ id }) => this.store.find(id)));
    return rows.flatMap(({ status_at }, n) => {
      const found = tasks[n];
      return found ? [{ ...found.stored, scope: found.scope, since: status_at.getTime() }] : [];
    });
  }
}
