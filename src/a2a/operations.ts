import type { A2AOperations } from '../protocol/index.js';

const Abstract = class {} as unknown as abstract new () => A2AOperations;

/** What the bindings translate to: the eleven operations. Also the token under which the service is injected. */
export abstract class Operations extends Abstract {}
