import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/**
 * The rows of section S002 of the behaviours that the core of the service has to show. The others belong to
 * clients, to documents, or to push (37, 89, 124-133), extended cards and signatures (32, 38-48), 0.3 (29, 153,
 * 171-177), security (9, 158-170) and gateways (99), whose tests are theirs.
 */
const ROWS: readonly number[] = [
  ...range(1, 8),
  ...range(11, 28),
  ...[30, 31, 33],
  ...range(49, 73),
  ...range(75, 84),
  ...[86, 87, 88, 90],
  ...range(93, 98),
  ...range(100, 123),
  ...range(135, 152),
  ...range(154, 157),
];

const ROOT = new URL('../../', import.meta.url).pathname;

/** What the tests are called: the text in quotes of every line that names a row or a fault. */
const titles = ['src', 'test'].flatMap((folder) =>
  readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.spec.ts') && !file.endsWith('coverage.spec.ts'))
    .flatMap(
      (file) => readFileSync(`${ROOT}${folder}/${file}`, 'utf8').match(/(['"`]).*\((?:S\d|B\d).*\1/g) ?? [],
    ),
);

it('Every row that the core has to show is named by the test that shows it', () => {
  expect(titles.length).toBeGreaterThan(200);
  const named = new Set(titles.join(' ').match(/S002-\d{3}/g));
  const missing = ROWS.map((row) => `S002-${String(row).padStart(3, '0')}`).filter((row) => !named.has(row));
  expect(missing).toEqual([]);
});
