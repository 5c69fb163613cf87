import { z } from 'zod';

/** How long something is kept. */
export interface AgeRule {
  /** Undefined: every one. */
  readonly agent?: string;
  readonly organisation?: string;
  /** Infinity is for ever. */
  readonly ms: number;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const RULE = /^(?:([a-z0-9][a-z0-9-]{0,62})?(?:@([^=]+))?=)?(ever|[0-9]{1,5}[smhd])$/;

/** `90d`, `12h`, `5m`, `30s` or `ever`, in milliseconds. */
export const age = (otherwise: string) =>
  z
    .string()
    .regex(/^(ever|[0-9]{1,5}[smhd])$/, { error: 'give an age such as 90d, 12h, 5m, 30s or ever' })
    .default(otherwise)
    .transform(milliseconds);

/** Ages for all, for an agent, for an organisation, and for both; one text, or a list of such in the YAML file. */
export const ages = (otherwise: string) => {
  const error = 'give ages such as 90d,echo=12h,@acme=365d,echo@acme=ever';
  const read = (value: unknown) =>
    typeof value === 'string' ? value.split(',').map((rule) => rule.trim()) : value;
  const rules = z.array(z.string({ error }).regex(RULE, { error }), { error });
  return z.preprocess(read, rules.default([])).transform((given): readonly AgeRule[] => {
    const own = given.map(ruleOf);
    const all = own.some(({ agent, organisation }) => agent === undefined && organisation === undefined);
    return all ? own : [...own, ruleOf(otherwise)];
  });
};

/** The most specific of the rules that holds, an organisation's before an agent's; milliseconds, or Infinity. */
export function ageFor(rules: readonly AgeRule[], wanted: { agent: string; organisation: string }): number {
  const fitting = rules.filter(
    ({ agent = wanted.agent, organisation = wanted.organisation }) =>
      agent === wanted.agent && organisation === wanted.organisation,
  );
  const weight = ({ agent, organisation }: AgeRule) => (organisation ? 2 : 0) + (agent ? 1 : 0);
  return fitting.sort((a, b) => weight(b) - weight(a))[0]?.ms ?? Number.POSITIVE_INFINITY;
}

function ruleOf(text: string): AgeRule {
  const [, agent, organisation, given = ''] = RULE.exec(text) ?? [];
  return { agent, organisation, ms: milliseconds(given) };
}

function milliseconds(text: string): number {
  return text === 'ever' ? Number.POSITIVE_INFINITY : Number(text.slice(0, -1)) * UNITS[text.slice(-1)]!;
}
