import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as reasons from './v03/modern.only.js';

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/**
 * The rows of section S002 of the behaviours that the core of the service has to show, beside those below. The others
 * belong to clients, to documents or to gateways.
 */
const CORE: readonly number[] = [
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

const named = (section: string, rows: readonly number[], digits: number) =>
  rows.map((row) => `${section}-${String(row).padStart(digits, '0')}`);

const ROWS: readonly string[] = [
  ...named('S002', CORE, 3),
  // What clients of 0.3 were used to.
  ...named('S000', range(9, 29), 2),
  ...named('S001', [...range(1, 10), 24], 2),
  ...named('S002', range(171, 177), 3),
  ...['B03', 'B57', 'B99', 'B102', 'B104', 'B105', 'B109', 'B114', 'B121'],
  // Who calls, what they may and what they see.
  ...named('S000', range(39, 43), 2),
  ...named('S002', [...range(38, 48), ...range(158, 165)], 3),
  ...named('S003', [...range(8, 14), 16, 19, 20], 2),
  ...named('S004', [22, 24], 2),
  ...['B50', 'B52', 'B55', 'B58', 'B60', 'B63', 'B64', 'B118', 'B119', 'B120'],
  // Push.
  ...named('S000', range(30, 38), 2),
  ...named('S002', range(124, 134), 3),
  ...named('S004', range(6, 12), 2),
  ...['B54', 'B83', 'B84', 'B87', 'B89', 'B90', 'B91', 'B92', 'B93'],
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

it('Every row of the core, 0.3, identity and push is named by the test that shows it', () => {
  expect(titles.length).toBeGreaterThan(200);
  const found = new Set(titles.join(' ').match(/S\d{3}-\d+|B\d+/g));
  expect(ROWS.filter((row) => !found.has(row))).toEqual([]);
});

it('Every case runs on the three bindings of 0.3 too, but where there is a reason', () => {
  const files = readdirSync(`${ROOT}test/conformance`).filter((file) => file.endsWith('.spec.ts'));
  const cases = files.map((file) => readFileSync(`${ROOT}test/conformance/${file}`, 'utf8')).join('\n');
  expect(Object.keys(reasons).filter((name) => !cases.includes(name))).toEqual([]);
  expect(cases.match(/modernOnly/g)!.length).toBeLessThan(25);
});
