import { HttpLane } from './http.lane.mjs';
import { runWindow } from './window.mjs';

/**
 * The same POST again and again, as the `http` back end would send it; each answer holds the text.
 * @param {{url: string, lanes: number, warmMs: number, timedMs: number, serverPid: number}} job
 */
export async function postLoad(job) {
  const text = 'x'.repeat(100);
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] };
  const body = JSON.stringify({ message, task: { id: 't' }, history: [message], attempt: 1 });
  const lanes = Array.from({ length: job.lanes }, () => new HttpLane(job.url));
  const figures = await runWindow(job, async (lane) => {
    const answer = await lanes[lane].post(body);
    if (!answer.includes(text)) throw new Error(`not an answer: ${answer.toString().slice(0, 300)}`);
  });
  await Promise.all(lanes.map((lane) => lane.close()));
  return figures;
}
