// An agent in JavaScript, with Node alone: takes the turn at once and posts what comes of it later.
//
//   node agent.mjs 9000
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

/** Says something about a turn, whichever replica of the service answers. */
async function say(turn, ...events) {
  const headers = { 'content-type': 'application/json' };
  await fetch(turn.callbackUrl, { method: 'POST', headers, body: JSON.stringify(events) });
}

async function work(turn) {
  const text = turn.message.parts.map((part) => part.text ?? '').join(' ');
  await say(turn, { type: 'status', text: 'Turning it round' });
  const answer = [...text].reverse().join('');
  await say(turn, { type: 'artifact', id: 'answer', text: answer }, { type: 'done' });
}

const server = createServer(async (request, response) => {
  const turn = await json(request);
  response.writeHead(202).end();
  await work(turn).catch((error) => say(turn, { type: 'fail', text: error.message }));
});
server.listen(Number(process.argv[2] ?? 9000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
