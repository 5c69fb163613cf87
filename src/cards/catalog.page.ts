import { z } from 'zod';
import { A2AError } from '../protocol/index.js';

/** An agent as the catalog shows it. */
export interface CatalogEntry {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly tags: readonly string[];
  }[];
  /** Address of the card. */
  readonly card: string;
}

export interface CatalogPage {
  readonly agents: readonly CatalogEntry[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  /** All matches, on every page. */
  readonly totalSize: number;
}

const text = z.string('has to be given once').max(200, 'has to have at most 200 characters').optional();

/** What a page token says: the id that the page before ended with. */
const after = z
  .string('has to be given once')
  .transform((token) => Buffer.from(token, 'base64url').toString())
  .refine((id) => /^[a-z0-9][a-z0-9-]{0,62}$/.test(id), 'is not a token of this list')
  .optional();

const CatalogQuery = z.object({
  /** Id of a skill. */
  skill: text,
  /** Of a skill, in any case. */
  tag: text,
  /** Anywhere in the names and descriptions of the agent and its skills, in any case. */
  text,
  pageSize: z.coerce
    .number()
    .int('has to be a whole number')
    .min(1, 'has to be 1 to 100')
    .max(100, 'has to be 1 to 100')
    .default(50),
  pageToken: z.preprocess((token) => token || undefined, after),
});
type CatalogQuery = z.output<typeof CatalogQuery>;

/** @throws A2AError `invalidParams` with every wrong field */
export function readQuery(given: Record<string, unknown>): CatalogQuery {
  const result = CatalogQuery.safeParse(given);
  if (result.success) return result.data;
  const violations = result.error.issues.map(({ path, message }) => ({
    field: path.join('.'),
    description: message,
  }));
  throw new A2AError('invalidParams', { violations });
}

export function matches({ name, description, skills }: CatalogEntry, query: CatalogQuery): boolean {
  const tag = query.tag?.toLowerCase();
  const texts = [name, description, ...skills.flatMap((skill) => [skill.name, skill.description])];
  const wanted = query.text?.toLowerCase();
  return (
    (query.skill === undefined || skills.some(({ id }) => id === query.skill)) &&
    (tag === undefined || skills.some(({ tags }) => tags.some((own) => own.toLowerCase() === tag))) &&
    (wanted === undefined || texts.some((own) => own.toLowerCase().includes(wanted)))
  );
}

/** In the order of the ids, so that what comes or goes between two pages moves nothing else. */
export function pageOf(entries: readonly CatalogEntry[], { pageSize, pageToken }: CatalogQuery): CatalogPage {
  const ordered = entries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const rest = pageToken === undefined ? ordered : ordered.filter(({ id }) => id > pageToken);
  const agents = rest.slice(0, pageSize);
  const last = rest.length > pageSize ? (agents.at(-1)?.id ?? '') : '';
  return {
    agents,
    nextPageToken: Buffer.from(last).toString('base64url'),
    totalSize: entries.length,
  };
}
