import { connect } from 'node:net';
import { untilIdle } from '../memory.mjs';
import { startService } from './service.process.mjs';

/** Streams that are opened before the count begins: what the first ones cost once is not what each one costs. */
const WARM = 200;
const AT_ONCE = 500;
/** Kilobytes that an idle stream may cost. */
const GOAL_KB = 15;

/** So many subscriptions on one replica to a task that says nothing, and how soon all of them are told of its end. */
export async function idleStreams({ dir, databaseUrl }, count) {
  const service = await startService({ dir, databaseUrl });
  const id = await startTask(service.url);
  const streams = await open(service.port, id, WARM);
  await untilIdle();
  const before = await service.memory();
  streams.push(...(await open(service.port, id, count)));
  await untilIdle();
  const after = await service.memory();
  const each = (what) => (after[what] - before[what]) / count / 1_024;
  const start = performance.now();
  await post(`${service.url}/rest/tasks/${id}:cancel`, {});
  await Promise.all(streams.map(({ ended }) => ended));
  const told = performance.now() - start;
  await service.stop();
  const verdict = each('rss') <= GOAL_KB ? 'met' : 'MISSED';
  return [
    `${count} idle streams: ${each('rss').toFixed(1)} kB each (goal <= ${GOAL_KB}: ${verdict})`,
    `of that ${each('heapUsed').toFixed(1)} kB are JavaScript objects; all are told of an event in ${Math.round(told)} ms`,
  ].join(', ');
}

async function open(port, id, count) {
  const streams = [];
  while (streams.length < count) {
    const some = Math.min(count - streams.length, AT_ONCE);
    streams.push(...(await Promise.all(Array.from({ length: some }, () => subscribe(port, id)))));
  }
  return streams;
}

const post = async (url, body) => {
  const headers = { 'a2a-version': '1.0', 'content-type': 'application/json' };
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json();
};

async function startTask(url) {
  const message = { messageId: 'idle', role: 'ROLE_USER', parts: [{ text: 'sleep 3600000' }] };
  const { task } = await post(`${url}/rest/message:send`, {
    message,
    configuration: { returnImmediately: true },
  });
  return task.id;
}

/** Resolves with the first frame. `ended` resolves with the last. */
function subscribe(port, id) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    const ended = new Promise((over) =>
      socket.on('data', (text) => text.includes('CANCELED') && over(socket.destroy())),
    );
    socket.once('data', () => resolve({ ended }));
    socket.write(`GET /rest/tasks/${id}:subscribe HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\n\r\n`);
  });
}
