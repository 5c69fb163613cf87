import { create } from '@bufbuild/protobuf';
import { beforeEach, describe, expect, it } from 'vitest';
import { testConfig } from '../../test/support/config.js';
import { FakeAgents, fakeAgent } from '../../test/support/fake.agents.js';
import { FakeAudit } from '../../test/support/fake.audit.js';
import { FakeOperations, streamOf } from '../../test/support/fake.operations.js';
import { recordSpans } from '../../test/support/recorded.spans.js';
import { ANONYMOUS, Authenticator } from '../auth/index.js';
import { ScopePolicy } from '../auth/scope.policy.js';
import type { Readiness } from '../health/index.js';
import {
  A2AError,
  AgentCardSchema,
  type Binding,
  GetTaskRequestSchema,
  OPERATION_NAMES,
  type OperationName,
  type Principal,
  type ProtocolVersion,
  Role,
  SendMessageRequestSchema,
} from '../protocol/index.js';
import type { TaskStore } from '../tasks/index.js';
import { CallerGate } from './caller.gate.js';
import { Caller } from './caller.js';
import { CallerLimits } from './caller.limits.js';
import type { AgentCapabilities } from './capabilities.js';
import { Dispatcher, isStream } from './dispatcher.js';

class FakeCaller extends Caller {
  gone = false;

  constructor(
    private readonly headers: Record<string, string> = {},
    private readonly parameters: Record<string, string> = {},
  ) {
    super();
  }

  header(name: string): string | undefined {
    return this.headers[name];
  }

  override query(name: string): string | undefined {
    return this.parameters[name];
  }

  protected onGone(): void {}
}

class FakeAuthenticator extends Authenticator {
  principal: Principal | undefined = ANONYMOUS;

  async authenticate(): Promise<Principal> {
    if (this.principal === undefined) throw new A2AError('unauthenticated', { challenge: 'Bearer' });
    return this.principal;
  }
}

const AGENTS = new FakeAgents([
  fakeAgent(),
  fakeAgent({ id: 'hidden', access: { organisations: ['acme'] } }),
  fakeAgent({
    id: 'strict',
    extensions: [{ uri: 'https://e.example/Must', required: true }, { uri: 'https://e.example/may' }],
  }),
]);

function setUp(given: Partial<AgentCapabilities> = {}, drainMs = '5000') {
  const capabilities: AgentCapabilities = {
    streaming: true,
    pushNotifications: true,
    extendedAgentCard: true,
    versions: { JSONRPC: ['1.0'], 'HTTP+JSON': ['1.0', '0.3'], GRPC: ['1.0'] },
    card: create(AgentCardSchema),
    ...given,
  };
  const config = testConfig({ PARLEY_DRAIN_MS: drainMs });
  const operations = new FakeOperations();
  const authenticator = new FakeAuthenticator();
  const draining = new AbortController();
  const audit = new FakeAudit();
  const limits = new CallerLimits(config, {} as TaskStore);
  const dispatcher = new Dispatcher(
    AGENTS,
    { of: () => capabilities },
    new CallerGate(authenticator, new ScopePolicy(config, audit), limits, audit),
    operations,
    { draining: draining.signal } as Readiness,
    config,
  );
  return { dispatcher, operations, authenticator, draining, audit };
}

const V1 = { 'a2a-version': '1.0' };

interface Given {
  readonly operation?: OperationName;
  readonly binding?: Binding;
  readonly versions?: readonly ProtocolVersion[];
  readonly agent?: string;
  readonly tenant?: string;
  readonly headers?: Record<string, string>;
  readonly query?: Record<string, string>;
}

function arrival({
  operation = 'getTask',
  binding = 'JSONRPC',
  versions = ['1.0', '0.3'],
  agent,
  tenant = '',
  headers = V1,
  query,
}: Given) {
  return { operation, binding, versions, agent, tenant, caller: new FakeCaller(headers, query) };
}

const kindOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'admitted',
    (error: A2AError) => error.kind,
  );

const getTask = create(GetTaskRequestSchema, { id: 't' });

describe('The dispatcher', () => {
  it('speaks at an address no version but its own, whatever the agent is served in besides', async () => {
    const { dispatcher } = setUp();
    const rest = { binding: 'HTTP+JSON', versions: ['0.3'] } as const;

    expect(await kindOf(dispatcher.admit(arrival({ ...rest, headers: {} })))).toBe('admitted');
    expect(await kindOf(dispatcher.admit(arrival(rest)))).toBe('versionNotSupported');
  });

  describe('takes the version from header, query or metadata for each operation (B104)', () => {
    const CASES: [
      headers: Record<string, string>,
      query: Record<string, string>,
      onJson: string,
      onRest: string,
    ][] = [
      [{}, {}, 'versionNotSupported', '0.3'],
      [{ 'a2a-version': '' }, {}, 'versionNotSupported', '0.3'],
      [{ 'a2a-version': '0.3' }, {}, 'versionNotSupported', '0.3'],
      [{ 'a2a-version': '0.3.0' }, {}, 'versionNotSupported', '0.3'],
      [{ 'a2a-version': '1.0' }, {}, '1.0', '1.0'],
      [{ 'a2a-version': '1.0.0' }, {}, '1.0', '1.0'],
      [{ 'a2a-version': ' 1.0 ' }, {}, '1.0', '1.0'],
      [{ 'a2a-version': '99.0' }, {}, 'versionNotSupported', 'versionNotSupported'],
      [{}, { 'A2A-Version': '1.0' }, '1.0', '1.0'],
      [{ 'a2a-version': '1.0' }, { 'A2A-Version': '99.0' }, '1.0', '1.0'],
      [{ 'a2a-version': '99.0' }, { 'A2A-Version': '1.0' }, 'versionNotSupported', 'versionNotSupported'],
    ];
    it.each(CASES)('%j %j', async (headers, query, onJson, onRest) => {
      const { dispatcher } = setUp();
      for (const operation of OPERATION_NAMES) {
        const version = (binding: Binding) =>
          dispatcher.admit(arrival({ operation, binding, headers, query })).then(
            (call) => call.version,
            (error: A2AError) => error.kind,
          );
        expect(await version('JSONRPC')).toBe(onJson);
        expect(await version('HTTP+JSON')).toBe(onRest);
      }
    });
  });

  it('takes the steps in their order, so that nothing is told that an earlier one forbids', async () => {
    const { dispatcher, authenticator } = setUp({ pushNotifications: false });
    authenticator.principal = undefined;
    const push = { operation: 'getTaskPushNotificationConfig', agent: 'strict' } as const;
    const declared = { ...V1, 'a2a-extensions': 'https://e.example/Must' };

    const nobodys = { ...push, agent: 'nobody', headers: {} };

    expect(await kindOf(dispatcher.admit(arrival(nobodys)))).toBe('unauthenticated');
    authenticator.principal = { ...ANONYMOUS, scopes: new Set() };
    expect(await kindOf(dispatcher.admit(arrival(nobodys)))).toBe('notFound');
    expect(await kindOf(dispatcher.admit(arrival({ ...push, agent: 'hidden', headers: {} })))).toBe(
      'notFound',
    );
    expect(await kindOf(dispatcher.admit(arrival({ ...push, headers: {} })))).toBe('versionNotSupported');
    expect(await kindOf(dispatcher.admit(arrival(push)))).toBe('extensionSupportRequired');
    expect(await kindOf(dispatcher.admit(arrival({ ...push, headers: declared })))).toBe('permissionDenied');
    authenticator.principal = ANONYMOUS;
    expect(await kindOf(dispatcher.admit(arrival({ ...push, headers: declared })))).toBe(
      'pushNotificationNotSupported',
    );
  });

  it.each<[Partial<AgentCapabilities>, OperationName[], string]>([
    [{ streaming: false }, ['sendStreamingMessage', 'subscribeToTask'], 'unsupportedOperation'],
    [
      { pushNotifications: false },
      OPERATION_NAMES.filter((name) => name.includes('PushNotificationConfig')),
      'pushNotificationNotSupported',
    ],
    [{ extendedAgentCard: false }, ['getExtendedAgentCard'], 'unsupportedOperation'],
  ])('with %j refuses %j alone, before any look-up', async (capabilities, refused, kind) => {
    const { dispatcher } = setUp(capabilities);
    for (const operation of OPERATION_NAMES) {
      const expected = refused.includes(operation) ? kind : 'admitted';
      expect(await kindOf(dispatcher.admit(arrival({ operation })))).toBe(expected);
    }
  });

  it('refuses a message that brings a push config where nothing is pushed (B89)', async () => {
    const { dispatcher, operations } = setUp({ pushNotifications: false });
    const request = create(SendMessageRequestSchema, {
      message: { messageId: 'm', role: Role.USER, parts: [{ content: { case: 'text', value: 'a' } }] },
      configuration: { taskPushNotificationConfig: { url: 'https://hook.example' } },
    });
    const call = await dispatcher.admit(arrival({ operation: 'sendMessage' }));

    expect(await kindOf(dispatcher.perform(call, request))).toBe('pushNotificationNotSupported');
    expect(operations.calls).toEqual([]);
  });

  it('activates the extensions that both sides know, by exact URI (B105)', async () => {
    const { dispatcher } = setUp();
    const extensionsOf = async (listed: string, name = 'a2a-extensions') => {
      const call = await dispatcher.admit(arrival({ agent: 'strict', headers: { ...V1, [name]: listed } }));
      return [call.extensions, call.reply.get('a2a-extensions')];
    };
    const must = 'https://e.example/Must';
    const may = 'https://e.example/may';

    expect(await extensionsOf(`${may}, https://x.example ,${must}`)).toEqual([
      [must, may],
      `${must}, ${may}`,
    ]);
    expect(await extensionsOf(must, 'x-a2a-extensions')).toEqual([[must], must]);
    for (const wrong of ['https://e.example/must', 'https://e.example/Must/v2', may]) {
      const headers = { ...V1, 'a2a-extensions': wrong };
      expect(await kindOf(dispatcher.admit(arrival({ agent: 'strict', headers })))).toBe(
        'extensionSupportRequired',
      );
    }
    expect((await dispatcher.admit(arrival({}))).reply.has('a2a-extensions')).toBe(false);
  });

  it('validates before it performs', async () => {
    const { dispatcher, operations } = setUp();
    const call = await dispatcher.admit(arrival({}));
    expect(await kindOf(dispatcher.perform(call, create(GetTaskRequestSchema)))).toBe('invalidParams');
    expect(operations.calls).toEqual([]);
  });

  it('gives the operation a call with all that is known', async () => {
    const { dispatcher, operations } = setUp();
    const call = await dispatcher.admit(arrival({ headers: { ...V1, 'last-event-id': '9' } }));
    await dispatcher.perform(call, getTask);

    expect(operations.last.call).toBe(call);
    expect(call).toMatchObject({
      operation: 'getTask',
      binding: 'JSONRPC',
      version: '1.0',
      agent: 'echo',
      principal: ANONYMOUS,
      lastEventId: 9,
    });
    expect(Object.fromEntries(call.reply)).toEqual({ 'a2a-version': '1.0' });
  });

  describe('on the way down', () => {
    it('takes on nothing that lasts, and still answers questions', async () => {
      const { dispatcher, draining } = setUp();
      draining.abort();
      for (const operation of ['sendMessage', 'sendStreamingMessage', 'subscribeToTask'] as const) {
        const refusal = dispatcher.admit(arrival({ operation }));
        await expect(refusal).rejects.toMatchObject({ kind: 'unavailable', retryAfter: 1 });
      }
      expect(await kindOf(dispatcher.admit(arrival({ operation: 'cancelTask' })))).toBe('admitted');
    });

    it('waits for the calls that run', async () => {
      const { dispatcher, operations } = setUp();
      let finish = () => {};
      operations.getTask = () =>
        new Promise((_resolve, reject) => {
          finish = () => reject(new A2AError('taskNotFound'));
        });
      const performed = kindOf(dispatcher.perform(await dispatcher.admit(arrival({})), getTask));
      let stopped = false;
      const stopping = dispatcher.beforeApplicationShutdown().then(() => {
        stopped = true;
      });
      await new Promise((resolve) => setImmediate(resolve));
      expect(stopped).toBe(false);

      finish();
      expect(await performed).toBe('taskNotFound');
      await stopping;
    });

    it('waits no longer than the drain time', async () => {
      const { dispatcher, operations } = setUp({}, '20');
      operations.getTask = () => new Promise(() => {});
      void dispatcher.perform(await dispatcher.admit(arrival({})), getTask);
      await dispatcher.beforeApplicationShutdown();
    });
  });

  describe('with tracing', () => {
    const exporter = recordSpans();
    beforeEach(() => exporter.reset());

    it('spans an operation with the reason of its error, which is an error of ours only if the fault is', async () => {
      const { dispatcher, operations } = setUp();
      await dispatcher.perform(await dispatcher.admit(arrival({})), getTask);
      for (const error of [new A2AError('taskNotFound'), new Error('broken')]) {
        operations.getTask = () => Promise.reject(error);
        await kindOf(dispatcher.perform(await dispatcher.admit(arrival({})), getTask));
      }

      const name = 'a2a/GetTask';
      const [fine, failed] = [{ code: 0 }, { code: 2 }];
      expect(exporter.getFinishedSpans()).toMatchObject([
        { name, status: fine, attributes: { 'a2a.agent': 'echo', 'a2a.binding': 'JSONRPC' } },
        { name, status: fine, attributes: { 'a2a.error.reason': 'TASK_NOT_FOUND' } },
        { name, status: failed, attributes: { 'a2a.error.reason': 'INTERNAL' } },
      ]);
    });

    it('keeps the span of a stream open until its end', async () => {
      const { dispatcher, operations } = setUp();
      operations.subscribeToTask = async () => streamOf();
      const call = await dispatcher.admit(arrival({ operation: 'subscribeToTask' }));
      const reply = await dispatcher.perform(call, getTask);

      expect(isStream(reply)).toBe(true);
      expect(call.span?.isRecording()).toBe(true);
      expect(exporter.getFinishedSpans()).toEqual([]);
    });
  });
});
