import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { INSTRUMENTS, type Instrument } from '../../src/telemetry/index.js';

const text = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const instruments = Object.entries(INSTRUMENTS) as [string, Instrument][];

const SUFFIXES = { counter: ['_total'], gauge: [''], histogram: ['_bucket', '_count', '_sum'] } as const;
/** As Prometheus names them, with the labels that they have. */
const metrics = new Map(
  instruments.flatMap(([name, { kind, attributes }]) =>
    SUFFIXES[kind].map((suffix) => [name.replaceAll('.', '_') + suffix, [...attributes, 'le', 'instance']]),
  ),
);

interface Rules {
  readonly spec: { groups: { rules: { alert: string; expr: string }[] }[] };
}
interface Dashboard {
  readonly panels: { title: string; targets: { expr: string }[] }[];
}

const { spec } = parse(text('k8s/observability/alerts.yaml')) as Rules;
const alerts = spec.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const));
const { panels } = JSON.parse(text('k8s/observability/dashboard.json')) as Dashboard;
const queries = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const));

describe('alerts and dashboard', () => {
  it.each([...alerts, ...queries])('%s asks for metrics and labels that there are', (_, expr) => {
    const asked = [...expr.matchAll(/a2a_server_\w+/g)].map(([name]) => name);
    expect(asked.filter((name) => !metrics.has(name))).toEqual([]);
    const known = asked.flatMap((name) => metrics.get(name) ?? []);
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels]) => labels!.split(/, */));
    const matched = [...expr.matchAll(/(\w+)=~?"/g)].map(([, label]) => label!);
    expect(asked.length).toBeGreaterThan(0);
    expect([...grouped, ...matched].filter((label) => !known.includes(label))).toEqual([]);
  });

  it('show every metric that there is', () => {
    const shown = queries.map(([, expr]) => expr).join('\n');
    expect(
      instruments.map(([name]) => name.replaceAll('.', '_')).filter((name) => !shown.includes(name)),
    ).toEqual([]);
  });
});

describe('the list of metrics', () => {
  // The formatter pads the columns.
  const rows = text('src/telemetry/README.md')
    .split('\n')
    .map((line) => line.replace(/ +/g, ' '));

  it.each(instruments)('in src/telemetry/README.md has %s as it is', (name, instrument) => {
    const { kind, unit, attributes, text: meaning } = instrument;
    const row = `| \`${name}\` | ${kind} | ${unit} | ${attributes.join(', ')} | ${meaning} |`;
    expect(rows).toContain(row.replace(/ +/g, ' '));
  });
});
