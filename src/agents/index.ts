export * from './agent.definition.js';
export * from './agent.events.js';
export * from './agent.executor.js';
