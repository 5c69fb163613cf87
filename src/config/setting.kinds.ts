import { isIP } from 'node:net';
import { z } from 'zod';

/**
 * The kinds of value a setting can have. Each reads both the text of an environment variable or flag and the
 * native value of the YAML file, and its only error is the sentence that says what to give instead.
 */
export const wholeNumber = (min: number, max: number) => {
  const error = `give a whole number from ${min} to ${max}`;
  const read = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? Number(value) : value);
  return z.preprocess(read, z.int({ error }).min(min, { error }).max(max, { error }));
};

export const port = () => wholeNumber(0, 65_535);
export const milliseconds = (min = 1) => wholeNumber(min, 2_147_483_647);

export const text = (error = 'give a text that is not empty') => z.string({ error }).min(1, { error });

export const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `give one of ${values.join(', ')}` });

export const flag = () => {
  const read = (value: unknown) =>
    value === 'true' || value === '1' ? true : value === 'false' || value === '0' ? false : value;
  return z.preprocess(read, z.boolean({ error: 'give true or false' }));
};

/** Comma separated in the environment, a list or the same text in the YAML file. */
export const list = <T extends z.ZodType<string>>(item: T, error: string) => {
  const read = (value: unknown) =>
    typeof value === 'string'
      ? value
          .split(',')
          .map((entry) => entry.trim())
          .filter(Boolean)
      : value;
  return z.preprocess(read, z.array(item, { error }));
};

export const agentId = () => {
  const error = 'give an agent id: a-z, 0-9 and "-", at most 63 characters';
  return z.string({ error }).regex(/^[a-z0-9][a-z0-9-]{0,62}$/, { error });
};

/** Ids of agents. In the YAML file an agent may be described where its id stands; only the id is taken. */
export const agentIds = () => {
  const idOf = (entry: unknown) =>
    typeof entry === 'object' && entry !== null
      ? agentId().safeParse((entry as { id?: unknown }).id).data
      : entry;
  const read = (value: unknown) =>
    Array.isArray(value)
      ? value.map((entry: unknown) => idOf(entry)).filter((entry) => entry !== undefined)
      : value;
  return z.preprocess(read, list(agentId(), 'give agent ids, separated by commas').optional());
};

export const cidr = () => {
  const error = 'give addresses or CIDR blocks such as 10.0.0.0/8, separated by commas';
  const valid = (value: string) => {
    const [address = '', bits, ...rest] = value.split('/');
    const family = isIP(address);
    const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
    return family !== 0 && fits && rest.length === 0;
  };
  return z.string({ error }).refine(valid, { error });
};

/** A list of numbers, each of the given kind. */
export const numbers = (item: z.ZodType<number>, error: string) => {
  const read = (value: unknown) => (typeof value === 'string' ? value.split(',') : value);
  return z.preprocess(read, z.array(item, { error }).min(1, { error }));
};

/** An address or CIDR block, a host name, or `*.` and the end of host names. */
export const hostOrCidr = () => {
  const error = 'give hosts, *.domains or CIDR blocks such as 10.0.0.0/8, separated by commas';
  const host = z.string({ error }).regex(/^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i, { error });
  return z.union([cidr(), host], { error });
};

const bytesOf = (base64: string) =>
  /^([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2,3}=+)?$/.test(base64) ? Buffer.from(base64, 'base64').length : 0;

/** A secret of Standard Webhooks: `whsec_` and base64. */
export const signingSecret = () => {
  const error = 'give secrets of whsec_ and 24 to 64 bytes in base64, separated by commas';
  const size = (value: string) => bytesOf(value.replace(/^whsec_/, ''));
  const valid = (value: string) => value.startsWith('whsec_') && size(value) >= 24 && size(value) <= 64;
  return z.string({ error }).refine(valid, { error });
};

/** A named key of AES-256: `name=base64`. */
export const encryptionKey = () => {
  const error = 'give pairs such as 2026=key with 32 bytes in base64, separated by commas';
  const valid = (value: string) => {
    const [name = '', key] = halves(value);
    return /^[A-Za-z0-9_-]{1,32}$/.test(name) && bytesOf(key) === 32;
  };
  return z.string({ error }).refine(valid, { error });
};

/** An absolute URL of one of the protocols. */
export const url = (protocols: readonly string[], example: string) => {
  const error = `give a URL such as ${example}`;
  const valid = (value: string) => URL.canParse(value) && protocols.includes(new URL(value).protocol);
  return z.string({ error }).refine(valid, { error });
};

export const hostAndPort = () => {
  const error = 'give host:port such as agents.example.com:443';
  const valid = (value: string) => /^(\[[0-9a-fA-F:]+\]|[^\s:/]+):\d{1,5}$/.test(value);
  return z.string({ error }).refine(valid, { error });
};

/** Other names for the given ones, which are kept where none is set: `a=b` pairs, or a map in the YAML file. */
export const renames = <const T extends readonly string[]>(names: T) => {
  const error = `give pairs such as ${names[0]}=other, separated by commas; names are ${names.join(', ')}`;
  const read = (value: unknown) =>
    typeof value === 'string'
      ? Object.fromEntries(value.split(',').map((pair) => halves(pair.trim())))
      : value;
  const same = Object.fromEntries(names.map((name) => [name, name]));
  const known = z.partialRecord(z.enum(names, { error }), text(error), { error });
  return z.preprocess(read, known).transform((given) => ({ ...same, ...given }) as Record<T[number], string>);
};

/** Names to lists of texts: `a=x y, b=z` in the environment, a map of lists or of such texts in the YAML file. */
export const lists = (names: z.ZodType<string>, error: string) => {
  const split = (value: unknown) => (typeof value === 'string' ? value.split(/\s+/).filter(Boolean) : value);
  const read = (value: unknown) => {
    const pairs =
      typeof value === 'string'
        ? Object.fromEntries(value.split(',').map((pair) => halves(pair.trim())))
        : value;
    if (typeof pairs !== 'object' || pairs === null) return pairs;
    return Object.fromEntries(Object.entries(pairs).map(([name, texts]) => [name, split(texts)]));
  };
  return z.preprocess(read, z.record(names, z.array(text(error), { error }).min(1, { error }), { error }));
};

/** At the first "=" only: a name may be a URI with a query. */
const halves = (pair: string): [string, string] => {
  const [name = '', ...value] = pair.split('=');
  return [name, value.join('=')];
};
