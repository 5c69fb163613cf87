import type { Message } from '@bufbuild/protobuf';
import type { OperationName, RequestOf } from './operations.js';

/**
 * Checks a request against the descriptor and the rules of Parley. Lone surrogates are replaced in place.
 * Errors: invalidParams with every violation found.
 */
export function validateRequest<O extends OperationName>(_operation: O, _request: RequestOf<O>): void {}

/** Makes what an agent says storable, in place: U+0000 and lone surrogates become U+FFFD, NaN and Infinity null. */
export function sanitiseAgentOutput(_message: Message): void {}
