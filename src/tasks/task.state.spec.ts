import { describe, expect, it } from 'vitest';
import { TaskState } from '../protocol/index.js';
import { isInterrupted, isTerminal, transition } from './task.state.js';

const ALL = Object.values(TaskState).filter((state): state is TaskState => typeof state === 'number');
const NAMED = ALL.filter((state) => state !== TaskState.UNSPECIFIED);

describe('the states of a task', () => {
  it('are nine with UNSPECIFIED, four of them final and two waiting (S002-005)', () => {
    expect(ALL).toHaveLength(9);
    expect(NAMED.filter(isTerminal).map((s) => TaskState[s])).toEqual([
      'COMPLETED',
      'FAILED',
      'CANCELED',
      'REJECTED',
    ]);
    expect(NAMED.filter(isInterrupted).map((s) => TaskState[s])).toEqual(['INPUT_REQUIRED', 'AUTH_REQUIRED']);
  });

  it('let every move out of a non-terminal state through, and none out of a terminal one (S002-076, S002-006)', () => {
    for (const from of NAMED) {
      for (const to of NAMED) expect(transition(from, to)).toBe(isTerminal(from) ? 'drop' : 'enter');
    }
  });

  it('refuse what is no state', () => {
    expect(transition(TaskState.WORKING, TaskState.UNSPECIFIED)).toBe('invalid');
    expect(transition(TaskState.WORKING, 99 as TaskState)).toBe('invalid');
  });
});
