import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Postgres } from '../../src/database/index.js';
import type { EventBus, Heard, Hint } from '../../src/tasks/index.js';
import { NatsEventBus } from '../../src/tasks/nats-event.bus.js';
import { PostgresEventBus } from '../../src/tasks/postgres-event.bus.js';
import { testConfig } from '../support/config.js';
import { until } from '../support/house.js';
import { HAS_NATS, type NatsServer, startNats } from '../support/nats.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { administer } from '../support/postgres.setup.js';

const TASK = '01a22e51-fab0-71bf-9917-f7bae47d03bd';
const OTHER = '01a22e51-fab0-71bf-9917-f7bae47d03be';

/** What carries the hints, as a test sets it up and harms it. */
interface Carrier {
  /** A replica's end, not yet started. */
  bus(name: string): EventBus;
  /** Takes the connections of all replicas away, for as long as `meanwhile` takes where it can. */
  cut(meanwhile: () => Promise<void>): Promise<void>;
  /** A replica's end that finds nobody to connect to. */
  lonely(name: string): EventBus;
  close(): Promise<void>;
}

async function postgresCarrier(): Promise<Carrier> {
  const database: TestDatabase = await createDatabase();
  const pools: Postgres[] = [];
  const over = (url: string) => {
    const postgres = new Postgres(testConfig({ PARLEY_DATABASE_URL: url }));
    pools.push(postgres);
    return postgres;
  };
  return {
    bus: (name) => new PostgresEventBus(over(database.url), name),
    lonely: (name) => new PostgresEventBus(over('postgres://nobody@127.0.0.1:1/none'), name),
    cut: async (meanwhile) => {
      const name = new URL(database.url).pathname.slice(1);
      const others = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`;
      await administer(adminOf(database.url), `alter database ${name} with allow_connections false`);
      await administer(adminOf(database.url), others);
      await meanwhile();
      await administer(adminOf(database.url), `alter database ${name} with allow_connections true`);
    },
    close: async () => {
      await Promise.all(pools.map((pool) => pool.onApplicationShutdown()));
      await database.drop();
    },
  };
}

/** The same server's own database. */
function adminOf(url: string): string {
  return Object.assign(new URL(url), { pathname: '/postgres' }).href;
}

async function natsCarrier(): Promise<Carrier> {
  let server: NatsServer = await startNats();
  const { url } = server;
  return {
    bus: (name) => new NatsEventBus(url, name),
    lonely: (name) => new NatsEventBus('nats://127.0.0.1:1', name),
    cut: async (meanwhile) => {
      await server.stop();
      await meanwhile();
      server = await startNats(Number(new URL(url).port));
    },
    close: () => server.stop(),
  };
}

const NATS = HAS_NATS
  ? 'The event bus on NATS'
  : 'The event bus on NATS (skipped: there is no nats-server on this machine)';

describe('The event bus on Postgres', () => contract(postgresCarrier));
describe.skipIf(!HAS_NATS)(NATS, () => contract(natsCarrier));

// Lost connections are what these tests are about.
Logger.overrideLogger(false);

/** A replica's end with all that it has heard. */
class Ear {
  readonly heard: Heard[] = [];

  constructor(readonly bus: EventBus) {
    bus.listen((hint) => this.heard.push(hint));
  }

  has(hint: Heard): boolean {
    return this.heard.some((each) => JSON.stringify(each) === JSON.stringify(hint));
  }
}

function contract(open: () => Promise<Carrier>) {
  let carrier: Carrier;
  let ears: Ear[];
  beforeEach(async () => {
    carrier = await open();
    ears = [];
  });
  afterEach(async () => {
    await Promise.all(ears.map(({ bus }) => bus.stop()));
    await carrier.close();
  });

  const own = (bus: EventBus) => {
    const ear = new Ear(bus);
    ears.push(ear);
    return ear;
  };
  const started = async (name: string) => {
    const ear = own(carrier.bus(name));
    await ear.bus.start();
    return ear;
  };

  /** A hint can be lost, above all while replicas get to know each other; one of many arrives. */
  const arrives = (from: Ear, to: Ear, hint: Hint) =>
    until(() => {
      from.bus.tell(hint);
      return to.has(hint);
    });

  it.each<Hint>([
    { kind: 'event', taskId: TASK, seq: 7 },
    { kind: 'cancel', taskId: TASK },
    { kind: 'turn' },
  ])('passes a hint on as it is: %j', async (hint) => {
    const [a, b] = [await started('a'), await started('b')];
    await arrives(a, b, hint);
    await arrives(b, a, hint);
  });

  it('tells nobody of the own hints', async () => {
    const [a, b] = [await started('a'), await started('b')];
    await arrives(a, b, { kind: 'turn' });
    a.bus.tell({ kind: 'cancel', taskId: TASK });
    await arrives(b, a, { kind: 'cancel', taskId: OTHER });

    expect(a.has({ kind: 'turn' })).toBe(false);
    expect(a.has({ kind: 'cancel', taskId: TASK })).toBe(false);
  });

  it('brings the newest of many events of many tasks', async () => {
    const [a, b] = [await started('a'), await started('b')];
    await arrives(a, b, { kind: 'turn' });
    const ids = Array.from({ length: 1_000 }, (_, n) => `${TASK.slice(0, -4)}${1_000 + n}`);
    for (const taskId of ids) for (const seq of [1, 2, 3]) a.bus.tell({ kind: 'event', taskId, seq });
    await until(() => ids.every((taskId) => b.has({ kind: 'event', taskId, seq: 3 })));
  });

  it('says "resync" once it is connected', async () => {
    const a = own(carrier.bus('a'));
    expect(a.bus.connected).toBe(false);
    await a.bus.start();
    expect(a.bus.connected).toBe(true);
    expect(a.heard).toEqual([{ kind: 'resync' }]);
  });

  it('comes back by itself after the connection was lost, says "resync" and works as before', async () => {
    const [a, b] = [await started('a'), await started('b')];
    await arrives(a, b, { kind: 'turn' });
    b.heard.length = 0;
    await carrier.cut(async () => {
      await until(() => !a.bus.connected && !b.bus.connected);
      a.bus.tell({ kind: 'turn' });
    });
    await until(() => a.bus.connected && b.bus.connected);
    expect(b.has({ kind: 'resync' })).toBe(true);
    await arrives(a, b, { kind: 'cancel', taskId: TASK });
  });

  it('starts without anybody to connect to', async () => {
    const a = own(carrier.lonely('a'));
    await a.bus.start();
    a.bus.tell({ kind: 'turn' });
    expect(a.bus.connected).toBe(false);
    expect(a.heard).toEqual([]);
  });

  it('neither hears nor tells anything once it is stopped', async () => {
    const [a, b, c] = [await started('a'), await started('b'), await started('c')];
    await arrives(a, b, { kind: 'turn' });
    await b.bus.stop();
    b.heard.length = 0;
    b.bus.tell({ kind: 'cancel', taskId: TASK });
    await arrives(a, c, { kind: 'cancel', taskId: OTHER });

    expect(b.bus.connected).toBe(false);
    expect(b.heard).toEqual([]);
    expect(a.has({ kind: 'cancel', taskId: TASK })).toBe(false);
    expect(c.has({ kind: 'cancel', taskId: TASK })).toBe(false);
  });
}
