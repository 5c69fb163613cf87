export * from './clock.js';
export * from './page.token.js';
export * from './task.entity.js';
export * from './task.feed.js';
export * from './task.fold.js';
export * from './task.state.js';
export * from './task.store.js';
export * from './tasks.module.js';
