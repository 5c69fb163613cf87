export * from './agent.definition.js';
export * from './agent.events.js';
export * from './agent.executor.js';
export * from './agents.module.js';
export * from './built-in.agents.js';
