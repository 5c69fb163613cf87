import type { PoolClient } from '../database/index.js';
import { A2AError } from '../protocol/index.js';
import { ADD_PUSH } from './postgres-task.sql.js';
import { MOST_PUSH_CONFIGS, type PushTarget } from './task.store.js';

/**
 * Adds a push config to a task whose row the transaction has locked.
 * @throws A2AError `invalidParams` when there are too many
 */
export async function addPushTarget(client: PoolClient, taskId: string, target: PushTarget): Promise<void> {
  const { id, url, host, secret, version, extensions } = target;
  const values = [taskId, id, url, host, secret ?? null, version, MOST_PUSH_CONFIGS, extensions];
  const { rows } = await client.query(ADD_PUSH, values);
  if (rows.length > 0) return;
  throw new A2AError('invalidParams', {
    message: `A task has at most ${MOST_PUSH_CONFIGS} push configurations`,
    metadata: { taskId, limit: String(MOST_PUSH_CONFIGS) },
  });
}
