export * from './card.service.js';
export * from './card.verification.js';
export * from './cards.module.js';
export * from './served.js';
