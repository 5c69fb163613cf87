export * from './agent.definition.js';
export * from './agent.events.js';
export * from './agent.executor.js';
export { agentJsonSchema } from './agent.schema.js';
export * from './agent.versions.js';
export * from './agents.module.js';
export { Callbacks } from './backends/callbacks.js';
export * from './extensions/index.js';
