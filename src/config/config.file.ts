import { readFileSync } from 'node:fs';
import { isMap, LineCounter, parseDocument } from 'yaml';
import type { ConfigProblem } from './config.problem.js';

export interface ConfigEntry {
  readonly value: unknown;
  /** File and line. */
  readonly where: string;
}

export interface ConfigFile {
  readonly entries: ReadonlyMap<string, ConfigEntry>;
  readonly problems: readonly ConfigProblem[];
}

/** Reads a YAML file of settings. Never throws: whatever is wrong becomes a problem with its line. */
export function readConfigFile(path: string): ConfigFile {
  let source: string;
  try {
    source = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    return failed(path, `the file cannot be read (${code}); give the path of a YAML file`);
  }
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines });
  const at = (offset: number | undefined) => `${path}:${lines.linePos(offset ?? 0).line}`;
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => ({
      where: at(error.pos[0]),
      what: (error.message.split('\n')[0] ?? 'not valid YAML').replace(/ at line \d+.*$/, ''),
    }));
    return { entries: new Map(), problems };
  }
  if (document.contents === null) return { entries: new Map(), problems: [] };
  if (!isMap(document.contents)) return failed(path, 'the file must hold settings as "name: value" lines');
  const entries = new Map<string, ConfigEntry>();
  const values = document.toJS() as Record<string, unknown>;
  for (const { key } of document.contents.items) {
    const name = String(key);
    const range = key && typeof key === 'object' && 'range' in key ? (key.range as number[] | null) : null;
    entries.set(name, { value: values[name], where: `${at(range?.[0])} ${name}` });
  }
  return { entries, problems: [] };
}

const failed = (where: string, what: string): ConfigFile => ({
  entries: new Map(),
  problems: [{ where, what }],
});
