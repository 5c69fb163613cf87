// An agent behind HTTP that says at once what it was told, for the `http` back end. node plain.agent.mjs PORT
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.end();
  const { message } = await json(request);
  const reply = JSON.stringify({ text: message.parts[0].text });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': reply.length }).end(reply);
});
server.listen(Number(process.argv[2]), '127.0.0.1');
