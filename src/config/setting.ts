import type { z } from 'zod';

/**
 * One setting, described once. Its key is its name in the YAML file; the environment variable
 * (`PARLEY_HTTP_PORT`) and the flag (`--http-port`) follow from the key. The table of the README and `--help`
 * are made from this.
 */
export interface Setting<T extends z.ZodType = z.ZodType> {
  readonly schema: T;
  /** What kind of value, with its unit. */
  readonly type: string;
  readonly text: string;
  /** The default in words, where it is not a fixed value. */
  readonly otherwise?: string;
  /** Never shown, and not a flag: a command line is visible to every user of the machine. */
  readonly secret?: boolean;
}

export const setting = <T extends z.ZodType>(
  schema: T,
  type: string,
  text: string,
  more: Partial<Setting> = {},
) => ({ schema, type, text, ...more }) as Setting<T>;
