import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTRUMENTS, type Instrument } from '../../src/telemetry/index.js';
import { callAny } from '../support/any.binding.js';
import { health, reflected } from '../support/grpc.services.js';
import { until } from '../support/house.js';
import { type CollectedSpan, OtlpCollector } from '../support/otlp.collector.js';
import { type RunningService, startService } from '../support/service.js';
import { WebhookReceiver } from '../support/webhook.receiver.js';

const TOKEN = 'let-me-in';
let collector: OtlpCollector;
let hook: WebhookReceiver;
let service: RunningService;
let metricsUrl: string;
let exit: Promise<number | null> | undefined;

beforeAll(async () => {
  collector = await OtlpCollector.listen();
  hook = await WebhookReceiver.listen();
  service = await startService({
    env: {
      ...collector.env,
      PARLEY_METRICS_PORT: '0',
      PARLEY_PUSH_UNSIGNED: 'true',
      PARLEY_PUSH_ALLOW: '127.0.0.1',
      PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 1).toString('base64')}`,
      PARLEY_OPERATOR_TOKEN: TOKEN,
      PARLEY_GRPC_REFLECTION: 'false',
      PARLEY_DRAIN_MS: '500',
    },
  });
  const ready = service
    .output()
    .split('\n')
    .find((line) => line.includes('"Parley is ready"'));
  ({ metricsUrl } = JSON.parse(ready ?? '{}'));
});
afterAll(async () => {
  await (exit ?? service.stop());
  await hook.close();
  await collector.close();
});

let sent = 0;
const message = (text: string) => ({ messageId: `m-${++sent}`, role: 'ROLE_USER', parts: [{ text }] });
const names = (spans: readonly CollectedSpan[]) => spans.map(({ name }) => name).sort();
const span = (spans: readonly CollectedSpan[], name: string) => spans.find((one) => one.name === name);
const metrics = async () => (await fetch(metricsUrl)).text();

describe('one trace', () => {
  it.each(['GRPC', 'HTTP+JSON', 'JSONRPC'] as const)(
    'goes from the caller over %s to the turn, the store and the webhook (B126)',
    async (binding) => {
      const traceId = randomBytes(16).toString('hex');
      const caller = randomBytes(8).toString('hex');
      const before = hook.received.length;
      const { reply } = await callAny(service, {
        binding,
        operation: 'sendMessage',
        headers: { traceparent: `00-${traceId}-${caller}-01` },
        request: {
          message: message('a secret'),
          configuration: { returnImmediately: true, taskPushNotificationConfig: { url: hook.url } },
        },
      });
      const pushed = await hook.arrived(before + 3);
      await until(() => collector.in(traceId).filter(({ name }) => name === 'a2a/push').length >= 3);
      await until(() => span(collector.in(traceId), 'a2a/turn') !== undefined);

      const spans = collector.in(traceId);
      const root = span(spans, 'a2a/SendMessage')!;
      const { id } = (reply as unknown as { task: { id: string } }).task;
      expect(root).toMatchObject({
        parentSpanId: caller,
        attributes: { 'a2a.agent': 'echo', 'a2a.binding': binding, 'a2a.version': '1.0', 'a2a.task.id': id },
      });
      expect(span(spans, 'a2a/turn')).toMatchObject({
        parentSpanId: root.spanId,
        attributes: { 'a2a.task.id': id, 'a2a.task.state': 'COMPLETED', 'a2a.turn.attempt': 1 },
      });
      expect(names(spans)).toEqual(
        expect.arrayContaining(['a2a/SendMessage', 'a2a/push', 'a2a/turn', 'store/commit']),
      );
      expect(spans.filter(({ status }) => status === 2)).toEqual([]);
      const ids = spans.map(({ spanId }) => spanId);
      expect(spans.filter(({ parentSpanId }) => ![caller, ...ids].includes(parentSpanId ?? ''))).toEqual([]);
      const push = pushed.slice(before).map(({ headers }) => String(headers.traceparent).split('-'));
      expect(push.every(([, trace, parent]) => trace === traceId && ids.includes(parent!))).toBe(true);
      expect(JSON.stringify(spans)).not.toContain('secret');
    },
  );

  it('tells the reason of what a caller did wrong, and has no error for it', async () => {
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` };
    await callAny(service, { binding: 'JSONRPC', operation: 'getTask', headers, request: { id: 'none' } });
    await until(() => collector.in(traceId).length > 0);
    expect(span(collector.in(traceId), 'a2a/GetTask')).toMatchObject({
      status: 0,
      attributes: { 'a2a.error.reason': 'TASK_NOT_FOUND' },
    });
  });

  it.each([
    ['HTTP+JSON', 'sendMessage', { message: {} }, 'a2a/SendMessage', 'INVALID_PARAMS'],
    ['JSONRPC', 'sendMessage', { message: {} }, 'a2a/SendMessage', 'INVALID_PARAMS'],
    ['GRPC', 'getTask', { id: 't', tenant: 'nobody' }, 'a2a/GetTask', 'NOT_FOUND'],
  ] as const)(
    'has a call over %s that was refused before it began: %s of %j',
    async (binding, operation, request, name, reason) => {
      const traceId = randomBytes(16).toString('hex');
      const headers = { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` };
      await callAny(service, { binding, operation, headers, request });
      await until(() => collector.in(traceId).length > 0);
      expect(collector.in(traceId)).toMatchObject([
        { name, status: 0, parentSpanId: '1'.repeat(16), attributes: { 'a2a.error.reason': reason } },
      ]);
    },
  );

  it('has a call of a method that there is not', async () => {
    const traceId = randomBytes(16).toString('hex');
    await fetch(`${service.httpUrl}/jsonrpc`, {
      method: 'POST',
      headers: {
        'a2a-version': '1.0',
        'content-type': 'application/json',
        traceparent: `00-${traceId}-${'1'.repeat(16)}-01`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'DoWhatever', params: {} }),
    });
    await until(() => collector.in(traceId).length > 0);
    expect(collector.in(traceId)).toMatchObject([
      { name: 'a2a/unknown', attributes: { 'a2a.error.reason': 'METHOD_NOT_FOUND' } },
    ]);
  });

  it('has no error where a client leaves its stream (B126)', async () => {
    const traceId = randomBytes(16).toString('hex');
    const leaving = new AbortController();
    const response = await fetch(`${service.httpUrl}/rest/message:stream`, {
      method: 'POST',
      headers: {
        'a2a-version': '1.0',
        'content-type': 'application/json',
        traceparent: `00-${traceId}-${'1'.repeat(16)}-01`,
      },
      body: JSON.stringify({ message: message('sleep 30000') }),
      signal: leaving.signal,
    });
    await response.body!.getReader().read();
    leaving.abort();
    await until(() => span(collector.in(traceId), 'a2a/SendStreamingMessage') !== undefined);
    expect(span(collector.in(traceId), 'a2a/SendStreamingMessage')?.status).toBe(0);
  });
});

describe('metrics', () => {
  it('count an error inside HTTP 200 as one, and only by what is on the list', async () => {
    await callAny(service, { binding: 'JSONRPC', operation: 'getTask', request: { id: 'none' } });
    const text = await metrics();
    const failed = /^a2a_server_operation_duration_count\{(.*)\} (\d+)$/gm;
    const labels = [...text.matchAll(failed)].map(([, label]) => label);
    expect(labels).toContain('operation="getTask",binding="JSONRPC",agent="echo",outcome="TASK_NOT_FOUND"');
    expect(labels).toContain('operation="sendMessage",binding="GRPC",agent="echo",outcome="ok"');
    const unlisted = [...text.matchAll(/^# TYPE (\S+)/gm)]
      .map(([, name]) => name!)
      .filter(
        (name) =>
          name !== 'target_info' &&
          !Object.keys(INSTRUMENTS).some((known) => name.startsWith(known.replaceAll('.', '_'))),
      );
    expect(unlisted).toEqual([]);
  });

  it('tell of tasks, commits, pushes, the pool and the event loop', async () => {
    const text = await metrics();
    for (const line of [
      /^a2a_server_tasks_total\{agent="echo",state="COMPLETED"\} [1-9]/m,
      /^a2a_server_commit_size_count [1-9]/m,
      /^a2a_server_push_tries_total\{outcome="delivered"\} [1-9]/m,
      /^a2a_server_push_dead 0$/m,
      /^a2a_server_database_connections\{state="waiting"\} \d/m,
      /^a2a_server_event_loop_delay\{quantile="p99"\} \d/m,
      /^a2a_server_streams_open \d/m,
      /^a2a_server_turns_running\{agent="echo"\} 1$/m,
    ]) {
      expect(text).toMatch(line);
    }
    expect(Object.values(INSTRUMENTS).every(({ text, unit }: Instrument) => text !== '' && unit !== '')).toBe(
      true,
    );
  });
});

describe('operators', () => {
  const log = (method: string, body?: object) =>
    fetch(`${service.httpUrl}/operator/log`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, ...(body && { 'content-type': 'application/json' }) },
      body: body && JSON.stringify(body),
    });

  it('find one line for a call that failed, with its task', () => {
    const lines = service
      .output()
      .split('\n')
      .filter((line) => line.includes('"kind":"taskNotFound"'));
    expect(JSON.parse(lines[0]!)).toMatchObject({
      operation: 'getTask',
      binding: 'JSONRPC',
      agent: 'echo',
      taskId: 'none',
    });
    expect(lines).toHaveLength(2);
  });

  it('change the level of the log while it runs, also by a signal', async () => {
    expect(await (await log('PUT', { level: 'error' })).json()).toEqual({ level: 'error' });
    process.kill(service.pid, 'SIGUSR2');
    await until(async () => ((await (await log('GET')).json()) as { level: string }).level === 'debug');
    expect((await log('PUT', { level: 'loud' })).status).toBe(400);
    expect(await (await log('PUT', { level: 'info' })).json()).toEqual({ level: 'info' });
  });

  it('see that it has started and is ready, on gRPC too; reflection is off where it is not wanted', async () => {
    expect((await fetch(`${service.httpUrl}/health/startup`)).status).toBe(200);
    expect(await health(service.grpcAddress)).toBe('SERVING');
    await expect(reflected(service.grpcAddress)).rejects.toThrow('UNIMPLEMENTED');
  });
});

describe('the end of the service', () => {
  it('exports the spans of its last calls (B126)', async () => {
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` };
    await callAny(service, {
      binding: 'HTTP+JSON',
      operation: 'sendMessage',
      headers,
      request: { message: message('bye') },
    });
    exit = service.stop();
    expect(await exit).toBe(0);
    expect(names(collector.in(traceId))).toEqual(
      expect.arrayContaining(['a2a/SendMessage', 'a2a/turn', 'store/commit']),
    );
  });
});
