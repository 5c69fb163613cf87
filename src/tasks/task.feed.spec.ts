import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { StreamEvent, StreamResponseSchema } from '../protocol/index.js';
import type { EventBus, Heard } from './event.bus.js';
import { TaskFeed } from './task.feed.js';

const first = new StreamEvent(create(StreamResponseSchema, {}), 1);

/** A feed whose looks at the database are answered by hand. */
function feedOf() {
  const looks: ((versions: Map<string, number>) => void)[] = [];
  let hear: (heard: Heard) => void = () => {};
  const bus = { listen: (listener: typeof hear) => (hear = listener), tell: () => {} };
  const store = {
    versions: () => new Promise<Map<string, number>>((resolve) => looks.push(resolve)),
    events: async () => [],
  };
  const feed = new TaskFeed(store, bus as unknown as EventBus);
  return { feed, look: () => hear({ kind: 'resync' }), looks };
}

describe('a feed that looks its tasks up', () => {
  it('keeps the readers of a task that is created while it looks', async () => {
    const { feed, look, looks } = feedOf();
    const tail = feed.follow('t', 0);
    look();
    feed.publish('t', [first]);
    looks[0]!(new Map());
    expect(await tail.next()).toEqual({ done: false, value: [first] });
    const next = tail.next();
    const second = new StreamEvent(first.response, 2);
    feed.publish('t', [second]);
    expect(await next).toEqual({ done: false, value: [second] });
    await tail.return();
  });

  it('lets go of the readers of a task that is gone', async () => {
    const { feed, look, looks } = feedOf();
    const tail = feed.follow('t', 0);
    feed.publish('t', [first]);
    await tail.next();
    const next = tail.next();
    look();
    looks[0]!(new Map());
    expect(await next).toMatchObject({ done: true });
  });
});
