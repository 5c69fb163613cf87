export * from './card.service.js';
export * from './cards.module.js';
export * from './served.js';
