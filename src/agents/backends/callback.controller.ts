import { Body, Controller, Headers, HttpCode, Param, Post } from '@nestjs/common';
import { A2AError, parseJson } from '../../protocol/index.js';
import { Callbacks } from './callbacks.js';
import { readEvent, UnreadableAnswer } from './plain.event.js';

const DEEPEST = 100;
/** More would not fit into an index. */
const LONGEST_KEY = 200;

/**
 * `POST /callbacks/{taskId}/{turn}/{signature}`: an agent that answered 202 says what came of it, one event or a list of
 * events. Needs no credential: the signature is one. 204 once it is stored, UnsupportedOperation when the turn has ended.
 */
@Controller('callbacks')
export class CallbackController {
  constructor(private readonly callbacks: Callbacks) {}

  @Post(':taskId/:turn/:signature')
  @HttpCode(204)
  async take(
    @Param() { taskId, turn, signature }: Record<'taskId' | 'turn' | 'signature', string>,
    @Body() body: unknown,
    @Headers('idempotency-key') key?: string,
  ): Promise<void> {
    const events = eventsOf(body);
    if (key && key.length > LONGEST_KEY) {
      throw new A2AError('invalidParams', {
        message: `Idempotency-Key: must not be longer than ${LONGEST_KEY} characters`,
      });
    }
    const posted = await this.callbacks.post({ taskId, turn: Number(turn), signature, events, key });
    if (posted === 'taken') return;
    if (posted === 'unknown') throw new A2AError('notFound');
    throw new A2AError('unsupportedOperation', { message: 'The turn has ended' });
  }
}

/** Checked here, so that the agent hears of its mistake instead of the caller. @throws A2AError `parseError`, `invalidParams` */
function eventsOf(body: unknown): unknown[] {
  const json = body instanceof Uint8Array ? parseJson(body, { maxDepth: DEEPEST }) : body;
  const events: unknown[] = Array.isArray(json) ? json : [json];
  try {
    for (const event of events) readEvent(event);
  } catch (error) {
    if (!(error instanceof UnreadableAnswer)) throw error;
    const { cause } = error;
    const flaw = cause instanceof Error ? cause.message : String(cause);
    throw new A2AError('invalidParams', {
      message: `That is no event, or no list of events: ${flaw}`,
      cause,
    });
  }
  return events;
}
