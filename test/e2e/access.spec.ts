import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BINDINGS, callAny } from '../support/any.binding.js';
import { message } from '../support/caller.matrix.js';
import { AUDIENCE, OidcIssuer } from '../support/oidc.issuer.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type RunningService, startService } from '../support/service.js';
import { answers, WebhookReceiver } from '../support/webhook.receiver.js';

const OPERATOR = { authorization: 'Bearer the-operators-own-token' };
const ALL = 'a2a.send a2a.read a2a.cancel';

let issuer: OidcIssuer;
let database: TestDatabase;
let service: RunningService;
beforeAll(async () => {
  issuer = await OidcIssuer.start('ES256');
  database = await createDatabase();
  service = await startService({
    database,
    env: {
      PARLEY_OIDC_ISSUERS: issuer.url,
      PARLEY_OIDC_AUDIENCE: AUDIENCE,
      PARLEY_OIDC_ORGANISATION_CLAIM: 'org',
      PARLEY_API_KEYS: 'true',
      PARLEY_OPERATOR_TOKEN: 'the-operators-own-token',
      PARLEY_AGENTS: 'echo,test-runner,deployer,code-reviewer',
      PARLEY_PRIVATE_AGENTS: 'test-runner',
      PARLEY_AGENT_ORGANISATIONS: 'deployer=acme wayne',
      PARLEY_AGENT_SCOPES: 'code-reviewer=review.code',
      PARLEY_PUSH_UNSIGNED: 'true',
      PARLEY_PUSH_KEYS: `test=${Buffer.alloc(32, 1).toString('base64')}`,
      PARLEY_PUSH_ALLOW: '127.0.0.1',
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await database?.drop();
  await issuer?.stop();
});

const token = async (claims: Record<string, unknown> = {}) => ({
  authorization: `Bearer ${await issuer.forge({ claims: { org: 'acme', scope: ALL, ...claims } })}`,
});
const cardOf = (agent: string, headers: Record<string, string> = {}) =>
  fetch(`${service.httpUrl}/agents/${agent}/.well-known/agent-card.json`, { headers });
/** Without the name of the agent, which the caller gave. */
const shape = async (response: Response, agent: string) => [
  response.status,
  (await response.text()).replaceAll(agent, 'AGENT'),
];

describe('A private agent', () => {
  it('shows its card to callers with a credential alone, and to no shared cache', async () => {
    const refused = await cardOf('test-runner');
    const shown = await cardOf('test-runner', await token());

    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain('Bearer');
    expect(shown.status).toBe(200);
    expect(shown.headers.get('cache-control')).toMatch(/^private/);
    expect(shown.headers.get('access-control-allow-origin')).toBeNull();
    expect((await cardOf('test-runner', { authorization: 'Bearer wrong' })).status).toBe(401);
  });

  it('leaves the public card of another agent to everyone (B64, S003-13)', async () => {
    const shown = await cardOf('echo');

    expect(shown.status).toBe(200);
    expect(shown.headers.get('cache-control')).toMatch(/^public/);
  });
});

describe('An agent of some organisations', () => {
  it.each(BINDINGS)(
    'is there for them on %s, and for all others like one that never was (S003-20)',
    async (binding) => {
      const list = async (tenant: string, org: string) =>
        callAny(service, {
          ...{ binding, operation: 'listTasks', request: { tenant } },
          headers: await token({ org }),
        });
      const foreign = await list('deployer', 'umbrella');

      expect((await list('deployer', 'acme')).reply).toMatchObject({ tasks: [] });
      expect((await list('deployer', 'wayne')).reply).toMatchObject({ tasks: [] });
      expect(foreign.reason).toBe('NOT_FOUND');
      expect({ ...foreign, metadata: {} }).toEqual({ ...(await list('nobody', 'umbrella')), metadata: {} });
    },
  );

  it('has no card for all others', async () => {
    const umbrella = await token({ org: 'umbrella' });

    expect((await cardOf('deployer', await token())).status).toBe(200);
    expect((await cardOf('deployer')).status).toBe(401);
    expect(await shape(await cardOf('deployer', umbrella), 'deployer')).toEqual(
      await shape(await cardOf('nobody', umbrella), 'nobody'),
    );
  });

  it.each(['deployer@1.0.0', 'deployer%401.0.0', 'test-runner@1.0.0'])(
    'has none at /agents/%s either, which is no address',
    async (name) => {
      for (const path of ['card', 'v1/card', '.well-known/agent-card.json'])
        expect((await fetch(`${service.httpUrl}/agents/${name}/${path}`)).status).toBe(404);
    },
  );
});

describe('An agent with a scope of its own', () => {
  it.each(BINDINGS)(
    'is called on %s by holders of it alone, who are told which (S002-160)',
    async (binding) => {
      const send = async (scope: string) =>
        callAny(service, {
          ...{ binding, operation: 'sendMessage', request: { ...message('a'), tenant: 'code-reviewer' } },
          headers: await token({ scope }),
        });
      const refused = await send(ALL);

      expect(refused).toMatchObject({ reason: 'PERMISSION_DENIED', metadata: { scope: 'review.code' } });
      if (binding !== 'GRPC') expect(refused.challenge).toContain('scope="review.code"');
      expect((await send('review.code')).metadata).toEqual({ scope: 'a2a.send' });
      expect((await send(`${ALL} review.code`)).reply).toMatchObject({ message: {} });
    },
  );

  it('says so on its card', async () => {
    const card = await (await cardOf('code-reviewer')).text();
    expect(card).toContain('review.code');
  });
});

interface Page {
  readonly agents: readonly { readonly id: string; readonly card: string }[];
  readonly nextPageToken: string;
  readonly totalSize: number;
}

describe('The catalog', () => {
  const ask = (query = '', headers: Record<string, string> = {}) =>
    fetch(`${service.httpUrl}/agents${query}`, { headers });
  const ids = async (query = '', headers: Record<string, string> = {}) => {
    const page = (await (await ask(query, headers)).json()) as Page;
    return page.agents.map(({ id }) => id);
  };

  it('shows the public agents to strangers, and to callers those that they may use (S003-14)', async () => {
    expect(await ids()).toEqual(['code-reviewer', 'echo']);
    expect(await ids('', await token())).toEqual(['deployer', 'echo', 'test-runner']);
    expect(await ids('', await token({ org: 'umbrella', scope: 'review.code' }))).toEqual([
      ...['code-reviewer', 'echo', 'test-runner'],
    ]);
    expect((await ask('', { authorization: 'Bearer wrong' })).status).toBe(401);
  });

  it('leads to the cards', async () => {
    const { agents } = (await (await ask()).json()) as Page;
    for (const { card } of agents) expect((await fetch(card)).status).toBe(200);
  });

  it('is filtered by skill, tag and text', async () => {
    const [first] = ((await (await cardOf('echo')).json()) as { skills: { id: string; tags: string[] }[] })
      .skills;

    expect(await ids(`?skill=${first?.id}`)).toEqual(['echo']);
    expect(await ids(`?tag=${first?.tags[0]?.toUpperCase()}`)).toContain('echo');
    expect(await ids('?text=RETURNS%20WHAT')).toEqual(['echo']);
    expect(await ids('?text=deploy')).toEqual([]);
    expect(await ids('?text=deploy', await token())).toContain('deployer');
  });

  it('comes in pages', async () => {
    const headers = await token();
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = (await (await ask(`?pageSize=1&pageToken=${pageToken}`, headers)).json()) as Page;
      expect(page).toMatchObject({ totalSize: 3, agents: [expect.anything()] });
      seen.push(...page.agents.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');

    expect(seen).toEqual(['deployer', 'echo', 'test-runner']);
  });

  it.each(['?pageSize=0', '?pageSize=101', '?pageSize=a', '?pageToken=%00', '?skill=a&skill=b'])(
    'refuses %s',
    async (query) => {
      const response = await ask(query);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain(/\w+/.exec(query)?.[0]);
    },
  );
});

describe('The audit log', () => {
  const read = async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query(
      'select act, organisation, subject, details from audit_log order by id',
    );
    await client.end();
    return rows as { act: string; organisation: string; subject: string; details: object }[];
  };

  it('tells of every act that matters, in the table and in the log, and never of a secret', async () => {
    const hook = await WebhookReceiver.listen();
    hook.behaviour = answers(410);
    const caller = await token({ sub: 'carol', scope: `${ALL} a2a.push`, act: { sub: 'gateway' } });
    const ask = (operation: 'sendMessage' | 'cancelTask', request: object, headers = caller) =>
      callAny(service, { binding: 'JSONRPC', operation, request: request as never, headers });
    const send = async (text: string, configuration = {}) => {
      const { reply } = await ask('sendMessage', { ...message(text), tenant: 'echo', configuration });
      return (reply as unknown as { task: { id: string } }).task.id;
    };
    const operate = (path: string, method: string, body?: object) =>
      fetch(`${service.httpUrl}/operator${path}`, {
        method,
        headers: { ...OPERATOR, ...(body && { 'content-type': 'application/json' }) },
        body: body && JSON.stringify(body),
      });
    await ask('sendMessage', message('hello'), { authorization: 'Bearer sesame' });
    await ask('sendMessage', message('hello'), await token({ sub: 'dave', scope: 'a2a.read' }));
    const waiting = await send('auth');
    await operate(`/approvals/${waiting}`, 'POST', { by: 'olga' });
    const asking = await send('ask');
    await ask('cancelTask', { id: asking });
    const wanted = { name: 'ci', organisation: 'acme', scopes: ['a2a.send'] };
    const { id, key } = (await (await operate('/keys', 'POST', wanted)).json()) as {
      id: string;
      key: string;
    };
    await operate(`/keys/${id}`, 'DELETE');
    const unheard = await send('hello', { taskPushNotificationConfig: { id: 'hook', url: hook.url } });
    await operate(`/receivers/${hook.host}/pause`, 'POST');
    await operate(`/receivers/${hook.host}/resume`, 'POST');
    await operate('/deliveries/redeliver', 'POST', { taskId: unheard });
    const erased = await operate('/erasures', 'POST', { organisation: 'acme', subject: 'nobody' });
    const { id: receiptId } = (await erased.json()) as { id: string };

    const expected = [
      { act: 'login.failed', details: { reason: 'The token is not a JWT', address: '127.0.0.1' } },
      { act: 'denied', organisation: 'acme', subject: 'dave', details: { scope: 'a2a.send', agent: 'echo' } },
      { act: 'approval', subject: 'olga', details: { taskId: waiting, reason: 'approved' } },
      {
        act: 'cancel',
        organisation: 'acme',
        subject: 'carol',
        details: { taskId: asking, actor: 'gateway' },
      },
      { act: 'key.made', subject: 'operator', details: { keyId: id } },
      { act: 'key.revoked', details: { keyId: id } },
      {
        act: 'push.dead',
        details: { taskId: unheard, configId: 'hook', host: hook.host, reason: 'HTTP 410' },
      },
      { act: 'push.paused', subject: 'operator', details: { host: hook.host } },
      { act: 'push.resumed', subject: 'operator', details: { host: hook.host } },
      { act: 'push.redelivered', subject: 'operator', details: { taskId: unheard } },
      { act: 'erase', subject: 'operator', details: { receiptId } },
    ];
    await vi.waitFor(
      async () => expect(await read()).toEqual(expect.arrayContaining(expected.map(containing))),
      {
        timeout: 10_000,
      },
    );
    const logged = service.output();
    for (const { act } of expected) expect(logged).toContain(`"${act}"`);
    for (const secret of ['sesame', key.slice(20), caller.authorization.slice(7)]) {
      expect(logged + JSON.stringify(await read())).not.toContain(secret);
    }
    await hook.close();
  });
});

const containing = ({ details, ...record }: { act: string; details: object }) =>
  expect.objectContaining({ ...record, details: expect.objectContaining(details) });
