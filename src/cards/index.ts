export * from './card.service.js';
export * from './cards.module.js';
export * from './public.address.js';
export * from './served.js';
