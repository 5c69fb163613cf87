import { createHash } from 'node:crypto';
import { type AgentCard, AgentCardSchema, encodeMessageText, v03 } from '../protocol/index.js';

/** What a cache sends along to ask whether its copy is still good. */
export interface Preconditions {
  readonly ifNoneMatch?: string;
  readonly ifModifiedSince?: string;
}

/** A card as it goes over the wire: serialised once, with its validators (RFC 9110, 8.8). */
export class CardForm {
  readonly body: Buffer;
  readonly etag: string;
  readonly lastModified: string;

  constructor(
    text: string,
    fingerprint: string,
    private readonly changed: Date,
  ) {
    this.body = Buffer.from(text);
    this.etag = `"${fingerprint}"`;
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

/** A card in the forms that its readers know. */
export class PublishedCard {
  /** For 1.0, and where the agent is served in 0.3 too, for readers of either. */
  readonly current: CardForm;
  /** For those who ask for 0.3; undefined where the agent is not served in it. */
  readonly legacy: CardForm | undefined;

  constructor(
    readonly card: AgentCard,
    changed: Date,
  ) {
    const forms = v03.cardForms(card);
    const text = forms ? v03.jsonText(forms.both) : encodeMessageText(AgentCardSchema, card);
    this.current = new CardForm(text, fingerprint(card), changed);
    const legacy = forms && v03.jsonText(forms.legacy);
    this.legacy = legacy === undefined ? undefined : new CardForm(legacy, hashOf(legacy), changed);
  }
}

/**
 * All replicas have to agree on it, but no two ES256 signatures are alike: those count by their headers, which
 * name algorithm and key.
 */
function fingerprint(card: AgentCard): string {
  const unsigned = encodeMessageText(AgentCardSchema, { ...card, signatures: [] });
  const signers = card.signatures.map((signature) => signature.protected);
  return hashOf([unsigned, ...signers].join('\n'));
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url');
