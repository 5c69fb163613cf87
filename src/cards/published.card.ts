import { createHash } from 'node:crypto';
import { type AgentCard, AgentCardSchema, encodeMessageText } from '../protocol/index.js';

/** What a cache sends along to ask whether its copy is still good. */
export interface Preconditions {
  readonly ifNoneMatch?: string;
  readonly ifModifiedSince?: string;
}

/** A card as it goes over the wire: serialised once, with its validators (RFC 9110, 8.8). */
export class PublishedCard {
  readonly body: Buffer;
  readonly etag: string;
  readonly lastModified: string;

  constructor(
    readonly card: AgentCard,
    private readonly changed: Date,
  ) {
    this.body = Buffer.from(encodeMessageText(AgentCardSchema, card));
    this.etag = `"${fingerprint(card)}"`;
    this.lastModified = changed.toUTCString();
  }

  /** Whether the copy that the reader has is this card. An entity tag decides over a date (RFC 9110, 13.2.2). */
  isHeldBy({ ifNoneMatch, ifModifiedSince }: Preconditions): boolean {
    if (ifNoneMatch !== undefined) {
      const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
      return tags.includes('*') || tags.includes(this.etag);
    }
    // A Last-Modified counts whole seconds. An unreadable date is NaN and never holds.
    const wholeSeconds = Math.floor(this.changed.getTime() / 1000) * 1000;
    return ifModifiedSince !== undefined && Date.parse(ifModifiedSince) >= wholeSeconds;
  }
}

/**
 * All replicas have to agree on it, but no two ES256 signatures are alike: those count by their headers, which
 * name algorithm and key.
 */
function fingerprint(card: AgentCard): string {
  const unsigned = encodeMessageText(AgentCardSchema, { ...card, signatures: [] });
  const signers = card.signatures.map((signature) => signature.protected);
  return createHash('sha256')
    .update([unsigned, ...signers].join('\n'))
    .digest('base64url');
}
