import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTING_LIST, variableOf } from '../../src/config/settings.js';
import { INSTRUMENTS } from '../../src/telemetry/index.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const files = ['README.md', 'k8s/README.md', 'src', 'test'].flatMap((path) =>
  path.endsWith('.md')
    ? [path]
    : readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('README.md'))
        .map((file) => `${path}/${file}`),
);
const readmes = files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')] as const);

const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name!);
const VARIABLES = new Set(['PARLEY_CONFIG', ...SETTING_LIST.map(([name]) => variableOf(name))]);
const isVariable = (name: string) =>
  name.endsWith('_') ? [...VARIABLES].some((one) => one.startsWith(name)) : VARIABLES.has(name);
/** As they are called here, and as Prometheus calls them, of a histogram its series too. */
const METRICS = new Set(
  Object.keys(INSTRUMENTS).flatMap((name) => [
    name,
    name.replaceAll('.', '_'),
    `${name.replaceAll('.', '_')}_total`,
  ]),
);

describe('The READMEs', () => {
  it('are all seen', () => expect(files.length).toBeGreaterThan(15));

  it.each(readmes)('%s names variables and metrics that there are', (_, text) => {
    expect(
      found(text, /\b(PARLEY_[A-Z0-9_]*)/g).filter((name) => name !== 'PARLEY_' && !isVariable(name)),
    ).toEqual([]);
    expect(
      found(text, /\b((?:a2a[._]server|parley\.push)[._][a-z._]*[a-z])/g).filter(
        (name) => !METRICS.has(name),
      ),
    ).toEqual([]);
  });

  it.each(readmes)('%s leads to files that there are', (file, text) => {
    const linked = found(text, /\]\((?!https?:)([^)#]+)\)/g).map((path) => join(dirname(file), path));
    const named = found(text, /`((?:src|test|k8s|docker|proto)\/[\w./@-]+)`/g);
    expect([...linked, ...named].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
