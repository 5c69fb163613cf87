import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withSettingsTable } from '../../src/config/settings.table.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const LONGEST_FILE = 400;

const sources = ['src', 'test', 'proto']
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  )
  .filter((file) => /\.(ts|mjs|js|proto)$/.test(file) && !file.startsWith('src/protocol/gen/'))
  .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));
const service = sources.filter(({ file }) => file.startsWith('src/') && !file.endsWith('.spec.ts'));

const filesWith = (pattern: RegExp, among = service) =>
  among.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

describe('sources', () => {
  it('are all seen', () => {
    expect(service.length).toBeGreaterThan(60);
  });

  it(`have at most ${LONGEST_FILE} lines`, () => {
    const long = sources.filter(
      ({ file, text }) => file.endsWith('.ts') && text.split('\n').length > LONGEST_FILE + 1,
    );
    expect(long.map(({ file }) => file)).toEqual([]);
  });

  it('have one noun and no drawer for the rest', () => {
    const drawer = /(^|\/)(common|shared|utils?|helpers?|core|lib|misc)(\/|\.)/;
    expect(service.map(({ file }) => file).filter((file) => drawer.test(file))).toEqual([]);
    expect(filesWith(/\bclass \w*(Impl|Manager|Util|Helper|Base|V2)\b/)).toEqual([]);
  });

  it('read the environment in config alone', () => {
    expect(filesWith(/process\.env\b/)).toEqual(['src/config/config.loader.ts']);
  });

  it('silence neither the compiler nor the linter', () => {
    expect(filesWith(/@ts-(ignore|nocheck|expect-error)|biome-ignore/)).toEqual([]);
  });

  it('sleep in no test', () => {
    const tests = sources.filter(({ file }) => file.endsWith('.spec.ts'));
    expect(filesWith(/await (delay|sleep)\(|setTimeout\(resolve/, tests)).toEqual([]);
  });
});

describe('README', () => {
  it('has the table of settings of this release; npm run generate:readme writes it', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    expect(withSettingsTable(readme)).toBe(readme);
  });
});
