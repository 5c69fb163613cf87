/** `parley/agent`: what the module of an agent is given, what it yields, and how it fails. */
export { Role, TaskState } from '../../protocol/index.js';
export * from '../agent.events.js';
export * from '../agent.executor.js';
export { answerIn, extended, type Question } from '../extensions/index.js';
