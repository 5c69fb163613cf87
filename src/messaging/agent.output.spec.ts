import { describe, expect, it } from 'vitest';
import { artifact, dataPart, message, status, textPart, working } from '../agents/index.js';
import { Role, TaskState } from '../protocol/index.js';
import { AgentOutput, InvalidAgentOutput } from './agent.output.js';

let ids = 0;
const output = new AgentOutput(
  { id: 't', contextId: 'c' },
  { now: () => 1_764_500_000_123 },
  { next: () => `id-${++ids}` },
);

describe('what an agent says', () => {
  it('gets the ids, the time and the role that the agent left out (B48)', () => {
    const [event] = output.events(working('on it'));
    expect(event?.payload.value).toMatchObject({
      taskId: 't',
      contextId: 'c',
      status: {
        timestamp: { seconds: 1_764_500_000n, nanos: 123_000_000 },
        message: { taskId: 't', contextId: 'c', role: Role.AGENT, messageId: `id-${ids}` },
      },
    });
  });

  it('cannot pretend to be about another task', () => {
    const event = {
      case: 'artifactUpdate' as const,
      value: { taskId: 'other', artifact: { parts: [textPart('x')] } },
    };
    expect(output.events(event)[0]?.payload.value).toMatchObject({ taskId: 't', contextId: 'c' });
  });

  it('names an artifact without a name after the task', () => {
    const [event] = output.events(artifact({ parts: [textPart('x')] }));
    expect(event?.payload.value).toMatchObject({ artifact: { artifactId: 't-response', name: 'response' } });
  });

  it('is cleaned of what a database cannot hold (B75)', () => {
    const [event] = output.events(artifact({ artifactId: 'x', parts: [textPart('a\u0000b\ud800')] }));
    expect(event?.payload.value).toMatchObject({
      artifact: { parts: [{ content: { value: 'a\ufffdb\ufffd' } }] },
    });
  });

  it('is refused where it nests deeper than clients can read', () => {
    const nested = (levels: number): object => (levels > 0 ? { a: nested(levels - 1) } : {});
    const said = (levels: number) => artifact({ parts: [dataPart(nested(levels) as never)] });
    expect(output.events(said(29))).toHaveLength(1);
    expect(() => output.events(said(30))).toThrow(InvalidAgentOutput);
  });

  it('as a whole Task becomes the events that are new in it, so that nothing stored is wiped (B16)', () => {
    const events = output.events({
      case: 'task',
      value: {
        status: { state: TaskState.COMPLETED },
        artifacts: [{ artifactId: 'x', parts: [textPart('x')] }],
        history: [{ messageId: 'mine', role: Role.AGENT, parts: [textPart('said')] }],
      },
    });
    expect(events.map(({ payload }) => payload.case)).toEqual(['message', 'artifactUpdate', 'statusUpdate']);
  });

  it('is refused when it breaks the protocol', () => {
    const bad = [
      status(TaskState.UNSPECIFIED),
      status(42 as TaskState),
      artifact({ parts: [] }),
      { case: 'message' as const, value: { parts: [] } },
      { case: 'statusUpdate' as const, value: {} },
      { case: 'artifactUpdate' as const, value: {} },
    ];
    for (const event of bad) expect(() => output.events(event)).toThrow(InvalidAgentOutput);
    expect(output.events(message('fine'))).toHaveLength(1);
  });
});
