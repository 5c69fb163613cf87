// The load runs in a process of its own: one job in, its figures out.
import { getLoad } from './get.load.mjs';
import { postLoad } from './post.load.mjs';
import { sendLoad } from './send.load.mjs';
import { streamLoad } from './stream.load.mjs';

const LOADS = { send: sendLoad, stream: streamLoad, get: getLoad, post: postLoad };

process.on('message', async ({ kind, ...job }) => {
  try {
    process.send({ figures: await LOADS[kind](job) }, () => process.exit(0));
  } catch (error) {
    process.send({ fault: error instanceof Error ? error.message : String(error) }, () => process.exit(1));
  }
});
