import { describe, expect, it } from 'vitest';
import { ReceiverHosts } from './receiver.hosts.js';
import { RetrySchedule } from './retry.schedule.js';

describe('the hosts of receivers', () => {
  it('share the room, and each keeps some', () => {
    const hosts = new ReceiverHosts(100);
    expect(hosts.share).toBe(50);
    for (let i = 0; i < 50; i++) hosts.enter('slow');
    expect(hosts.rooms().get('slow')).toBe(0);
    for (let i = 0; i < 200; i++) hosts.enter(`other ${i}`);
    expect(hosts.share).toBe(4);
  });

  it('never have all the room for one of them', () => {
    const hosts = new ReceiverHosts(4);
    expect(hosts.share).toBe(2);
  });

  it('count for the shares while they are pushed to, whatever they answered', () => {
    const hosts = new ReceiverHosts(100);
    for (let i = 0; i < 200; i++) hosts.enter(`dead ${i}`);
    for (let i = 0; i < 200; i++) hosts.failed(`dead ${i}`);
    for (let i = 0; i < 200; i++) hosts.leave(`dead ${i}`);
    expect(hosts.share).toBe(50);
    expect(hosts.rooms()).toEqual(new Map());
  });

  it('are to be paused after twenty failures in a row, and after twenty more', () => {
    const hosts = new ReceiverHosts(100);
    const paused = Array.from({ length: 40 }, () => hosts.failed('dead'));
    expect(paused).toEqual([...Array(19).fill(false), true, ...Array(19).fill(false), true]);
  });

  it('are not paused by failures with successes between', () => {
    const hosts = new ReceiverHosts(100);
    for (let i = 0; i < 100; i++) {
      expect(hosts.failed('shaky')).toBe(false);
      if (i % 10 === 0) hosts.succeeded('shaky');
    }
  });
});

describe('the schedule of retries', () => {
  it('grows, strays by a fifth at most, and ends', () => {
    const early = new RetrySchedule([1_000, 10_000], () => 0);
    const late = new RetrySchedule([1_000, 10_000], () => 1);
    expect([1, 2, 3].map((tries) => early.pause(tries))).toEqual([800, 8_000, undefined]);
    expect([1, 2, 3].map((tries) => late.pause(tries))).toEqual([1_200, 12_000, undefined]);
  });

  it('waits as long as the receiver asks, a day at most', () => {
    const schedule = new RetrySchedule([1_000], () => 0.5);
    expect(schedule.pause(1, 60_000)).toBe(60_000);
    expect(schedule.pause(1, 500)).toBe(1_000);
    expect(schedule.pause(1, Number.MAX_SAFE_INTEGER)).toBe(86_400_000);
  });
});
