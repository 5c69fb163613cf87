import { CHANGE_FEED_URI } from '../protocol/index.js';

/** The page about the change feed, whose extension has no data. */
export const changeFeed = {
  uri: CHANGE_FEED_URI,
  name: 'change-feed/v1',
  description: 'Tasks whose status changed since a cursor, to catch up',
  page: `
A client that was away, or whose webhook missed pushes, asks what has become of its tasks meanwhile. Nothing has to be
activated.

    GET /agents/{agent}/changes?after=<cursor>&wait=30
    A2A-Version: 1.0

    {"tasks": [{"id": "...", "contextId": "...", "status": {...}}], "cursor": "4711.01a2e0c4-..."}

\`GET /changes\` is the default agent's. The call needs what ListTasks needs (scope \`a2a.read\`) and fails in the shape
of the HTTP+JSON binding.

| parameter | meaning |
| --- | --- |
| \`after\` | The cursor of the page before; without it from the first task on. A cursor does not expire, but after the service's database was restored from a backup begin without one. |
| \`wait\` | Seconds, at most 60, to wait for a change when there is none yet (long poll). |
| \`pageSize\` | 1 to 100 tasks, 50 by default. A page that is not empty may have others after it: ask on. |
| \`historyLength\`, \`includeArtifacts\` | As in ListTasks; by default neither history nor artifacts. |

- The feed has the caller's own tasks with the agent, each where its status last changed, in the order of those
  changes. A task that changed twice since the cursor comes once, as it is now. Its first event counts as a
  change, whatever it says. One whose agent may still answer with a Message alone comes with that event.
- Nothing is left out: a change shows only once every transaction that began before it has ended, so no change can
  turn up before a cursor that was given out. While somebody keeps a writing transaction open in the same Postgres,
  the feed waits for it.
`,
};
