import {
  type ConnectionOptions,
  connect,
  type PeerCertificate,
  type SecureVersion,
  type TLSSocket,
} from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BINDINGS, type ClientTls, callAny } from '../support/any.binding.js';
import { message } from '../support/caller.matrix.js';
import { Authority, CertificateFiles, type Wanted } from '../support/certificates.js';
import { type RunningService, startService } from '../support/service.js';

const files = new CertificateFiles();
const servers = new Authority('Servers');
const clients = new Authority('Clients');
const ca = servers.cert;

let service: RunningService;
beforeAll(async () => {
  const { cert, key } = servers.server();
  service = await startService({
    env: {
      PARLEY_TLS_CERT: files.write('server.pem', cert),
      PARLEY_TLS_KEY: files.write('server.key', key),
      PARLEY_TLS_CLIENT_CA: files.write('clients.pem', clients.cert),
      PARLEY_LIMIT_FAILED_LOGINS: '0',
    },
  });
});
afterAll(async () => {
  await service?.stop();
  files.remove();
});

const client = (wanted: Wanted, authority = clients): ClientTls => ({ ca, ...authority.client(wanted) });
const ann = client({ commonName: 'ann', organisation: 'acme' });

describe('With certificates configured', () => {
  it.each(BINDINGS)(
    '%s knows its callers by their certificates, and keeps their tasks apart',
    async (binding) => {
      const call = (tls: ClientTls, operation: 'sendMessage' | 'getTask', request: object) =>
        callAny(service, { binding, operation, request: request as never, tls });
      const sent = await call(ann, 'sendMessage', message('hello'));
      const { id } = (sent.reply as unknown as { task: { id: string } }).task;
      const bob = client({ commonName: 'bob', organisation: 'acme' });
      const otherAnn = client({ commonName: 'ann', organisation: 'umbrella' });

      expect((await call(ann, 'getTask', { id })).reply).toMatchObject({ id });
      for (const stranger of [bob, otherAnn]) {
        expect((await call(stranger, 'getTask', { id })).reason).toBe('TASK_NOT_FOUND');
      }
    },
  );

  const refused: [what: string, tls: ClientTls][] = [
    ['no certificate', { ca }],
    [
      'one of another authority',
      client({ commonName: 'ann', organisation: 'acme' }, new Authority('Others')),
    ],
    ['one that has expired', client({ commonName: 'ann', organisation: 'acme', validForS: -60 })],
    ['one without an organisation', client({ commonName: 'ann' })],
    ['one without a name', client({ organisation: 'acme' })],
  ];
  it.each(BINDINGS.flatMap((binding) => refused.map(([what, tls]) => [binding, what, tls] as const)))(
    '%s refuses %s',
    async (binding, _what, tls) => {
      const answer = await callAny(service, { binding, operation: 'listTasks', tls });
      expect(answer).toMatchObject({ reason: 'UNAUTHENTICATED' });
    },
  );

  it.each(BINDINGS)(
    '%s takes no certificate of an authority that only has the same name',
    async (binding) => {
      const tls = client({ commonName: 'ann', organisation: 'acme' }, new Authority('Clients'));
      const { reply, reason } = await callAny(service, { binding, operation: 'listTasks', tls });

      expect(reply).toBeUndefined();
      // Node ends an HTTP/2 connection that shows a false signature before it is asked anything.
      expect(binding === 'GRPC' ? ['UNAUTHENTICATED', 'NONE'] : ['UNAUTHENTICATED']).toContain(reason);
    },
  );

  it('the card says https, and that a certificate is a way in', async () => {
    expect(service.httpUrl).toMatch(/^https:/);
    const { reply } = await callAny(service, { binding: 'HTTP+JSON', operation: 'listTasks', tls: ann });
    expect(reply).toMatchObject({ tasks: expect.anything() });
  });

  it.each(['httpUrl', 'grpcAddress'] as const)(
    '%s speaks TLS 1.2 and 1.3, and nothing older (S002-167)',
    async (which) => {
      expect(await handshake(addressOf(which), 'TLSv1.2')).toBe('TLSv1.2');
      expect(await handshake(addressOf(which), 'TLSv1.3')).toBe('TLSv1.3');
      await expect(handshake(addressOf(which), 'TLSv1.1')).rejects.toThrow();
    },
  );

  it('both listeners take up new certificates without a restart', async () => {
    const before = await serialAt('httpUrl');
    const { cert, key } = servers.server();
    files.write('server.pem', cert);
    files.write('server.key', key);

    await vi.waitFor(
      async () => {
        const [http, grpc] = [await serialAt('httpUrl'), await serialAt('grpcAddress')];
        expect(http).not.toBe(before);
        expect(grpc).toBe(http);
      },
      { timeout: 20_000, interval: 200 },
    );
  });

  it('files that do not fit together change nothing, and are told', async () => {
    const before = await serialAt('httpUrl');
    files.write('server.key', servers.server().key);

    await vi.waitFor(() => expect(service.output()).toContain('the old ones stay'), { timeout: 20_000 });
    expect(await serialAt('httpUrl')).toBe(before);
    expect(await serialAt('grpcAddress')).toBe(before);
  });
});

describe('The service', () => {
  it.each([
    ['a key of another certificate', () => servers.server().key],
    ['nonsense for a key', () => 'nonsense'],
  ])('does not start with %s, and says so', async (_what, key) => {
    const env = {
      PARLEY_TLS_CERT: files.write('wrong.pem', servers.server().cert),
      PARLEY_TLS_KEY: files.write('wrong.key', key()),
    };
    await expect(startService({ env })).rejects.toThrow(
      'PARLEY_TLS_CERT, PARLEY_TLS_KEY: the certificate cannot be used',
    );
  });
});

function addressOf(which: 'httpUrl' | 'grpcAddress') {
  const { hostname, port } = new URL(
    which === 'httpUrl' ? service.httpUrl : `https://${service.grpcAddress}`,
  );
  return { host: hostname, port: Number(port) };
}

function handshake(address: { host: string; port: number }, version: SecureVersion): Promise<string | null> {
  // OpenSSL has switched the old versions off for clients too, unless told otherwise.
  const options = { ...address, ca, minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' };
  return withSocket(options, (socket) => socket.getProtocol());
}

const serialAt = (which: 'httpUrl' | 'grpcAddress') =>
  withSocket(
    { ...addressOf(which), ca, ALPNProtocols: which === 'httpUrl' ? ['http/1.1'] : ['h2'] },
    (socket) => (socket.getPeerCertificate() as PeerCertificate).serialNumber,
  );

function withSocket<T>(options: ConnectionOptions, ask: (socket: TLSSocket) => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const socket = connect(options, () => {
      resolve(ask(socket));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}
