import { HttpLane, sendBody } from './http.lane.mjs';
import { runWindow } from './window.mjs';

/**
 * Blocking SendMessage over JSON-RPC: each lane sends, waits for the finished task and sends again.
 * @param {{url: string, version: '1.0' | '0.3', lanes: number, warmMs: number, timedMs: number,
 *   serverPid: number, configuration?: object}} job
 */
export async function sendLoad(job) {
  const text = 'x'.repeat(100);
  const [method, completed] =
    job.version === '0.3' ? ['message/send', '"completed"'] : ['SendMessage', '"TASK_STATE_COMPLETED"'];
  const lanes = Array.from({ length: job.lanes }, () => new HttpLane(job.url, job.version));
  const figures = await runWindow(job, async (lane) => {
    const answer = await lanes[lane].post(sendBody(method, text, job.configuration));
    if (!answer.includes(completed) || !answer.includes(text)) {
      throw new Error(`not a completed task: ${answer.toString().slice(0, 300)}`);
    }
  });
  await Promise.all(lanes.map((lane) => lane.close()));
  return figures;
}
