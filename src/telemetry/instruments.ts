/** One thing that is measured. Everything that is measured stands in {@link INSTRUMENTS}. */
export interface Instrument {
  readonly kind: 'counter' | 'histogram' | 'gauge';
  /** UCUM; what is counted in braces. */
  readonly unit: string;
  readonly text: string;
  /** The only attributes that it has, each with few values: no ids, no callers, nothing that a caller chooses. */
  readonly attributes: readonly string[];
  /** Upper bounds of a histogram's buckets, in its unit. */
  readonly buckets?: readonly number[];
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** The closed list of metrics. Prometheus has `_` for `.`, and `_total` after counters. */
export const INSTRUMENTS = {
  'a2a.server.operation.duration': {
    kind: 'histogram',
    unit: 's',
    text: 'Operations by outcome: `ok`, `left` (the client did), or the reason of the error, also where HTTP says 200; of a stream until its end',
    attributes: ['operation', 'binding', 'agent', 'outcome'],
    buckets: SECONDS,
  },
  'a2a.server.tasks': {
    kind: 'counter',
    unit: '{task}',
    text: 'Tasks that entered a state',
    attributes: ['agent', 'state'],
  },
  'a2a.server.turns.running': {
    kind: 'gauge',
    unit: '{turn}',
    text: 'Turns that run on this replica',
    attributes: ['agent'],
  },
  'a2a.server.turns.taken_over': {
    kind: 'counter',
    unit: '{turn}',
    text: 'Turns of replicas that are gone, by what became of them: `rerun`, `failed`, `cancelled`',
    attributes: ['agent', 'outcome'],
  },
  'a2a.server.events.dropped': {
    kind: 'counter',
    unit: '{event}',
    text: 'Events of agents that came too late: after the end of the task, or after the last chunk of an artifact',
    attributes: ['agent'],
  },
  'a2a.server.streams.open': {
    kind: 'gauge',
    unit: '{stream}',
    text: 'Streams that somebody reads',
    attributes: [],
  },
  'a2a.server.event.lag': {
    kind: 'histogram',
    unit: 's',
    text: 'From the news of an event on this replica until a reader of its task takes it',
    attributes: [],
    buckets: SECONDS,
  },
  'a2a.server.commit.size': {
    kind: 'histogram',
    unit: '{write}',
    text: 'Writes that share a commit',
    attributes: [],
    buckets: SIZES,
  },
  'a2a.server.commit.duration': {
    kind: 'histogram',
    unit: 's',
    text: 'Time of a commit of the log',
    attributes: ['outcome'],
    buckets: SECONDS,
  },
  'a2a.server.database.connections': {
    kind: 'gauge',
    unit: '{connection}',
    text: 'Connections of the pool: `used`, `idle`, and those that somebody is `waiting` for',
    attributes: ['state'],
  },
  'a2a.server.hints.connected': {
    kind: 'gauge',
    unit: '1',
    text: 'Whether hints of other replicas arrive; without them events of theirs come up to a second late',
    attributes: [],
  },
  'a2a.server.push.tries': {
    kind: 'counter',
    unit: '{try}',
    text: 'Tries of pushes: `delivered`, `failed`, `gone` (410), `dead` (the last one)',
    attributes: ['outcome'],
  },
  'a2a.server.push.duration': {
    kind: 'histogram',
    unit: 's',
    text: 'Time that receivers take to answer a push',
    attributes: ['outcome'],
    buckets: SECONDS,
  },
  'a2a.server.push.lag': {
    kind: 'gauge',
    unit: 's',
    text: 'Age of the oldest push that is due, over all replicas',
    attributes: [],
  },
  'a2a.server.push.due': {
    kind: 'gauge',
    unit: '{config}',
    text: 'Push configs with something to deliver now, over all replicas',
    attributes: [],
  },
  'a2a.server.push.dead': {
    kind: 'gauge',
    unit: '{config}',
    text: 'Push configs that were given up, over all replicas',
    attributes: [],
  },
  'a2a.server.auth.failures': {
    kind: 'counter',
    unit: '{call}',
    text: 'Calls without a valid credential (`UNAUTHENTICATED`), or without the right (`PERMISSION_DENIED`)',
    attributes: ['reason'],
  },
  'a2a.server.limits.hit': {
    kind: 'counter',
    unit: '{call}',
    text: "Calls over a caller's limit",
    attributes: ['limit'],
  },
  'a2a.server.retention.removed': {
    kind: 'counter',
    unit: '{row}',
    text: 'What was too old: `waiting` tasks failed, ended `tasks` removed, the chunks (`events`) of so many tasks, `push` configs, `audit` records',
    attributes: ['what'],
  },
  'a2a.server.retention.duration': {
    kind: 'histogram',
    unit: 's',
    text: 'Time of one batch of retention',
    attributes: ['what'],
    buckets: SECONDS,
  },
  'a2a.server.event_loop.delay': {
    kind: 'gauge',
    unit: 's',
    text: 'How late the event loop is, since the last look: `p50`, `p99`, `max`',
    attributes: ['quantile'],
  },
} as const satisfies Record<`a2a.server.${string}`, Instrument>;

export type InstrumentName = keyof typeof INSTRUMENTS;
type NamesOf<K> = {
  [N in InstrumentName]: (typeof INSTRUMENTS)[N]['kind'] extends K ? N : never;
}[InstrumentName];
export type CounterName = NamesOf<'counter'>;
export type HistogramName = NamesOf<'histogram'>;
export type GaugeName = NamesOf<'gauge'>;
/** Exactly the attributes that the table gives the instrument. */
export type AttributesOf<N extends InstrumentName> = Readonly<
  Record<(typeof INSTRUMENTS)[N]['attributes'][number], string>
>;
