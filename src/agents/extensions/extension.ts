import { z } from 'zod';
import type { ExtensionName } from '../../protocol/index.js';

/** One of the service's own extensions: what the card, its page and the agents have to know of it. */
export interface Extension {
  readonly uri: string;
  /** As an agent's description names it, with the version: `progress/v1`. */
  readonly name: `${ExtensionName}/v1`;
  /** One sentence for cards. */
  readonly description: string;
  /** The page about it, in Markdown: where the data stands and what it means. */
  readonly page: string;
  /** What stands under the URI. */
  readonly data: z.ZodType;
  readonly example: object;
}

export const shortText = (most = 1_000) => z.string().min(1).max(most);
