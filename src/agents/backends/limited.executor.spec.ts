import { describe, expect, it } from 'vitest';
import { eventsOf, fakeTurn, told } from '../../../test/support/turn.js';
import { artifact, textPart } from '../agent.events.js';
import { type AgentEvent, AgentExecutor, type TurnContext } from '../agent.executor.js';
import { LimitedExecutor } from './limited.executor.js';

const chunk = (text: string) => artifact({ parts: [textPart(text)] });

class Script extends AgentExecutor {
  left = false;

  constructor(private readonly say: (turn: TurnContext) => AsyncIterable<AgentEvent>) {
    super();
  }

  async *execute(turn: TurnContext): AsyncIterable<AgentEvent> {
    try {
      yield* this.say(turn);
    } finally {
      this.left = true;
    }
  }
}

describe('An agent with a total time', () => {
  it('fails when the time is over, though it heeds no signal, and is not heard any more', async () => {
    let goOn = () => {};
    const waits = new Promise<void>((resolve) => (goOn = resolve));
    const heard: string[] = [];
    const inner = new Script(async function* () {
      yield chunk('one');
      await waits;
      heard.push('went on');
      yield chunk('too late');
    });
    const events: string[] = [];
    const said = (async () => {
      for await (const event of new LimitedExecutor('x', inner, 20).execute(fakeTurn()))
        events.push('case' in event ? String(event.case) : 'several');
    })();

    await expect(said).rejects.toThrow('The agent took too long.');
    expect(events).toEqual(['artifactUpdate']);
    goOn();
    await waits;
    await expect.poll(() => inner.left).toBe(true);
    expect(heard).toEqual(['went on']);
    expect(events).toEqual(['artifactUpdate']);
  });

  it('is told of the end by its signal', async () => {
    const inner = new Script(async function* ({ signal }) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield chunk('too late');
    });
    await expect(eventsOf(new LimitedExecutor('x', inner, 20), fakeTurn())).rejects.toThrow('too long');
    await expect.poll(() => inner.left).toBe(true);
  });

  it('says all that it says in time', async () => {
    const inner = new Script(async function* () {
      for (const text of ['a', 'b', 'c']) yield chunk(text);
    });
    const events = await eventsOf(new LimitedExecutor('x', inner, 60_000), fakeTurn());
    expect(events.map(told)).toEqual(['artifact a', 'artifact b', 'artifact c']);
  });

  it('is left when its reader leaves', async () => {
    const inner = new Script(async function* () {
      for (;;) yield chunk('more');
    });
    for await (const _ of new LimitedExecutor('x', inner, 60_000).execute(fakeTurn())) break;
    expect(inner.left).toBe(true);
  });
});
