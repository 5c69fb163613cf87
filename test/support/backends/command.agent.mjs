// An agent as a program: reads the turn as JSON on stdin, writes one event a line.
import { Death, play } from './script.mjs';

let input = '';
for await (const chunk of process.stdin) input += chunk;
// Whatever it waits for keeps it alive.
setInterval(() => {}, 60_000);
try {
  for await (const event of play(JSON.parse(input), new AbortController().signal)) {
    process.stdout.write(`${typeof event === 'string' ? event : JSON.stringify(event)}\n`);
  }
  process.stdout.write('', () => process.exit(0));
} catch (error) {
  process.exit(error instanceof Death ? 7 : 1);
}
