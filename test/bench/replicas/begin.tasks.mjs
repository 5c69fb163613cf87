/**
 * Tasks of the echo agent that run on this replica.
 * @param {import('../../chaos/replica.mjs').Replica} replica
 * @param {string} text what each is sent
 * @returns {Promise<string[]>} their ids
 */
export function beginTasks(replica, text, count) {
  const [caller] = replica.callers;
  return Promise.all(
    Array.from({ length: count }, async () => {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
      const { task } = await caller.call('send', { message, configuration: { returnImmediately: true } });
      return task.id;
    }),
  );
}

export function cancelTasks(replica, ids) {
  return Promise.all(ids.map((id) => replica.callers[0].call('cancel', { id }).catch(() => undefined)));
}
