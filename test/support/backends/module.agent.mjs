// An agent as a module: an executor that an exported function makes. Counts what runs for the tests.
import { play } from './script.mjs';

export default function agent() {
  return {
    async *execute(turn) {
      globalThis.parleyModuleRuns = (globalThis.parleyModuleRuns ?? 0) + 1;
      try {
        const { approval, message, history } = turn;
        const plain = ({ parts }) => ({ parts: parts.map(({ content }) => ({ text: content.value })) });
        const request = { approval, message: plain(message), history: history.map(plain) };
        for await (const event of play(request, turn.signal)) yield agentEvent(event);
      } finally {
        globalThis.parleyModuleRuns--;
      }
    },
  };
}

const STATES = { status: 2, done: 3, ask: 6, auth: 8 };

function agentEvent({ type, id: artifactId, text, append, last: lastChunk }) {
  const parts = text === undefined ? [] : [{ content: { case: 'text', value: text } }];
  if (type === undefined) return { case: 'statusUpdate', value: { status: { state: 99 } } };
  if (type === 'artifact')
    return { case: 'artifactUpdate', value: { artifact: { artifactId, parts }, append, lastChunk } };
  return {
    case: 'statusUpdate',
    value: { status: { state: STATES[type], message: text ? { parts } : undefined } },
  };
}
