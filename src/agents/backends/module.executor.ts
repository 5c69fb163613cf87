import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AgentExecutor } from '../agent.executor.js';
import type { BackendOf } from './backend.schema.js';

/**
 * The executor that a JavaScript module exports, or the one that an exported function makes of the options.
 * A module that changed is loaded anew.
 *
 * @throws Error that says what is wrong with the module
 */
export async function moduleExecutor(
  { path, export: name, options }: BackendOf<'module'>,
  folder: string,
): Promise<AgentExecutor> {
  const file = resolve(folder, path);
  const url = pathToFileURL(file);
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats) throw new Error(`there is no module ${path} in ${folder}`);
  url.search = `changed=${stats.mtimeMs}`;
  const exported = ((await import(url.href)) as Record<string, unknown>)[name];
  const made: unknown = isMaker(exported) ? await exported(options) : exported;
  if (!isExecutor(made)) throw new Error(`it exports no executor as "${name}"`);
  return made;
}

function isMaker(value: unknown): value is (options: object) => unknown {
  return typeof value === 'function';
}

function isExecutor(value: unknown): value is AgentExecutor {
  return (
    typeof value === 'object' && value !== null && typeof (value as AgentExecutor).execute === 'function'
  );
}
