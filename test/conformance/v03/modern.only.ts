import type { BindingClient } from '../clients/index.js';

/** Why a case has no form in 0.3, or none on some of its bindings. All other cases run on the three of them too. */
export interface ModernOnly {
  /** Those of 0.3 that the reason is about; all of them otherwise. */
  readonly bindings?: readonly BindingClient['binding'][];
  readonly reason: string;
}

export const NO_LISTS: ModernOnly = {
  bindings: ['JSON-RPC', 'gRPC'],
  reason: '0.3 lists tasks over HTTP+JSON alone',
};

export const NO_EMPTY_LISTS: ModernOnly = {
  reason: 'no field of a task is REQUIRED in the proto of 0.3, so an empty list is not written',
};

export const NO_ZERO: ModernOnly = {
  bindings: ['HTTP+JSON', 'gRPC'],
  reason: 'the proto of 0.3 knows no difference between a historyLength of 0 and none',
};

export const NO_ZERO_IN_LISTS: ModernOnly = { reason: `${NO_LISTS.reason}; there ${NO_ZERO.reason}` };

export const NO_REFERENCES: ModernOnly = {
  bindings: ['HTTP+JSON'],
  reason: 'readers of ProtoJSON refuse fields that their release of 0.3 does not have: v03.spec.ts',
};

export const NO_CANCEL_METADATA: ModernOnly = {
  bindings: ['HTTP+JSON', 'gRPC'],
  reason: 'CancelTaskRequest of 0.3 has a name and nothing else',
};

export const NO_MEDIA_TYPES: ModernOnly = {
  reason: 'text and data have neither a name nor a media type in 0.3',
};

export const NO_PART_WITHOUT_KIND: ModernOnly = {
  reason: 'a part of 0.3 is of a kind, and each kind has its content: translation.spec.ts',
};

export const ONE_VERSION: ModernOnly = {
  reason: 'it is about 1.0, or about an agent that is served in 1.0 alone: v03.spec.ts',
};

export const EARLIER_END: ModernOnly = {
  reason: '0.3 ends its streams at every interrupted state: v03.spec.ts',
};

export const FINAL_TASK: ModernOnly = {
  reason: '0.3 gives a task that has ended as a stream of itself: v03.spec.ts',
};

export const PUBLIC_CARD: ModernOnly = {
  reason: '0.3 shows everyone the public card where there is no extended one: v03.spec.ts',
};
