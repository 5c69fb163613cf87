import { bodyOf, HttpLane, sendBody } from './http.lane.mjs';
import { quantiles, startWatch } from './window.mjs';

/**
 * SendStreamingMessage of `chunks N`, `streams` at the same time, `repeats` times one after another.
 * Every answer is kept and checked after the clock has stopped: all chunks, in order, then COMPLETED.
 * @param {{url: string, streams: number, chunks: number, repeats: number, warmChunks: number,
 *   serverPid: number}} job
 * @returns {Promise<import('./window.mjs').WindowFigures & {costs: number[]}>} `costs`: microseconds per
 *   event of each repeat; the latencies are those of whole streams
 */
export async function streamLoad({ url, streams, chunks, repeats, warmChunks, serverPid }) {
  const lanes = Array.from({ length: streams }, () => new HttpLane(url));
  await Promise.all(lanes.map((lane) => timedStream(lane, warmChunks)));
  const watch = startWatch(serverPid);
  const times = [];
  const costs = [];
  let events = 0;
  const answers = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const start = performance.now();
    const done = await Promise.all(lanes.map((lane) => timedStream(lane, chunks)));
    costs.push(((performance.now() - start) * 1000) / (streams * chunks));
    events += streams * chunks;
    for (const { ms, answer } of done) {
      times.push(ms);
      answers.push(answer);
    }
  }
  const figures = watch.stop(events);
  for (const answer of answers) checkStream(answer, chunks);
  await Promise.all(lanes.map((lane) => lane.close()));
  return { ...figures, ...quantiles(times), costs };
}

async function timedStream(lane, chunks) {
  const start = performance.now();
  const answer = await lane.post(sendBody('SendStreamingMessage', `chunks ${chunks}`));
  return { ms: performance.now() - start, answer };
}

/** Throws unless the SSE body holds `chunks` artifact updates, their texts in order, and ends COMPLETED. */
function checkStream(answer, chunks) {
  const events = bodyOf(answer)
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => JSON.parse(line.slice(5)).result);
  const numbers = events
    .filter((event) => event?.artifactUpdate)
    .map((event) => Number(/\d+/.exec(event.artifactUpdate.artifact.parts[0].text)?.[0]));
  const first = numbers[0];
  if (numbers.length !== chunks || numbers.some((number, index) => number !== first + index)) {
    throw new Error(`a stream of ${chunks} chunks brought ${numbers.length}, or another order`);
  }
  const state = events.at(-1)?.statusUpdate?.status?.state;
  if (state !== 'TASK_STATE_COMPLETED') throw new Error(`a stream of ${chunks} chunks ended with ${state}`);
}
