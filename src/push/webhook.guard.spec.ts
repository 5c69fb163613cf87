import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebhookClient } from './webhook.client.js';
import { ForbiddenUrl, WebhookGuard } from './webhook.guard.js';

const PUBLIC = '93.184.215.14';

/** Names as an attacker's name server answers them. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'hook.example.com': [PUBLIC, '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'loop.example.com': ['127.0.0.1'],
  'loop6.example.com': ['::1'],
  'mapped.example.com': ['::ffff:10.0.0.1'],
  'both.example.com': [PUBLIC, '10.0.0.1'],
  'both6.example.com': [PUBLIC, 'fd00::1'],
  'metadata.example.com': ['169.254.169.254'],
  'cgnat.example.com': ['100.64.0.7'],
  'nat64.example.com': ['64:ff9b::a00:1'],
  'sixtofour.example.com': ['2002:a00:1::'],
  'ula.example.com': ['fc00::1'],
  'linklocal.example.com': ['fe80::1'],
  'zero.example.com': ['0.0.0.0'],
  'compatible.example.com': ['::7f00:1'],
  'multicast.example.com': ['224.0.0.1'],
  '127.0.0.1.nip.io': ['127.0.0.1'],
  'intranet.corp': ['10.1.2.3'],
};

type Done = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

function answer(addresses: readonly string[] | undefined, done: Done): void {
  const unknown = addresses ? null : Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
  done(
    unknown,
    (addresses ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
}

const resolver = (host: string, _: unknown, done: Done) => answer(NAMES[host], done);
const guard = (...allow: string[]) => new WebhookGuard(allow, resolver);

const V4 = `127.0.0.1 127.0.0.2 127.1 127.0.1 127.255.255.254 0 0.0.0.0 0.0.0.1 0.1.2.3 10.0.0.1 10.255.255.255 10.1
  172.16.0.1 172.20.10.5 172.31.255.255 192.168.0.1 192.168.1.254 192.168.257 169.254.169.254 169.254.0.1 169.254.170.2
  100.64.0.1 100.100.100.200 100.127.255.255 192.0.0.1 192.0.0.192 192.0.2.1 198.18.0.1 198.19.255.255 198.51.100.7
  203.0.113.9 192.88.99.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 168.63.129.16
  2130706433 0x7f000001 0x7f.0.0.1 0x7f.1 017700000001 0177.0.0.1 0177.1 127.0x0.0.1 127.0.0.1. 0x7F.0.0.0x1
  3232235777 0xc0a80101 0300.0250.1.1 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 10.0x1 012.0.0.1
  ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 １０.０.０.１ 169．254．169．254 127%2e0%2e0%2e1 %31%32%37.0.0.1`;

const V6 = `::1 0:0:0:0:0:0:0:1 0000::0001 :: ::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:10.0.0.1 ::ffff:169.254.169.254
  ::ffff:a9fe:a9fe ::ffff:8.8.8.8 ::127.0.0.1 ::7f00:1 ::10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe
  64:ff9b:1::a00:1 2002:7f00:1:: 2002:a00:1::1 2002:a9fe:a9fe:: 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1
  2001:10::1 2001:20::1 fc00::1 fd00::1 fd00:ec2::254 fdff:ffff::1 fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 ff02::1 ff05::1:3
  ff0e::1 100::1 100::ffff 3fff::1 5f00::1 4000::1 8000::1 1::1 0:0:0:1::1 ::2 ::ffff`;

const NAMED = `localhost LOCALHOST localhost. foo.localhost ip6-localhost.localdomain printer.local metadata.google.internal
  instance-data.internal router.home.arpa loop.example.com loop6.example.com mapped.example.com both.example.com
  both6.example.com metadata.example.com cgnat.example.com nat64.example.com sixtofour.example.com ula.example.com
  linklocal.example.com zero.example.com compatible.example.com multicast.example.com 127.0.0.1.nip.io LOOP.example.com
  loop.example.com. intranet.corp`;

const words = (text: string) => text.split(/\s+/);

const OTHER = [
  'http://hook.example.com/',
  'ftp://hook.example.com/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:25/',
  'javascript:alert(1)',
  'data:text/plain,hi',
  'ws://hook.example.com/',
  'unix:/var/run/docker.sock',
  'dict://127.0.0.1:6379/',
  'https://user:password@hook.example.com/',
  'https://user@hook.example.com/',
  'https://:password@hook.example.com/',
  'https://hook.example.com@127.0.0.1/',
  'https://127.0.0.1\\@hook.example.com/',
  'https://hook.example.com#@127.0.0.1/',
  'https://127.0.0.1:443#hook.example.com',
  'https:///',
  'https://',
  '//hook.example.com',
  'hook.example.com',
  '',
  'https://[::1',
  'https://[fe80::1%25eth0]/',
  'https://hook.example.com:99999/',
  `https://hook.example.com/${'a'.repeat(2_048)}`,
];

const CORPUS = [
  ...words(V4).map((host) => `https://${host}/hook`),
  ...words(V6).map((host) => `https://[${host}]:8443/hook`),
  ...words(NAMED).map((host) => `https://${host}/hook`),
  ...OTHER,
];

describe('the guard of webhook addresses', () => {
  it('has a corpus of at least 120 addresses', () => {
    expect(new Set(CORPUS).size).toBeGreaterThanOrEqual(120);
  });

  it.each(CORPUS)('refuses %s at registration (B83, S000-35, S000-36, S000-37, S002-131)', async (url) => {
    await expect(guard().check(url)).rejects.toBeInstanceOf(ForbiddenUrl);
  });

  it.each([
    'https://hook.example.com/path?query=1',
    'https://hook.example.com:8443/',
    `https://${PUBLIC}/`,
    'https://[2606:4700:4700::1111]/',
    'https://unknown.example.com/',
  ])('takes %s', async (url) => {
    expect((await guard().check(url)).href).toBe(url);
  });

  it('takes what the operator has opened: hosts, domains and blocks, also by plain http', async () => {
    await expect(guard('intranet.corp').check('http://intranet.corp/')).resolves.toBeDefined();
    await expect(guard('*.corp').check('https://intranet.corp/')).resolves.toBeDefined();
    await expect(guard('10.0.0.0/8').check('https://intranet.corp/')).resolves.toBeDefined();
    await expect(guard('10.1.2.3').check('http://10.1.2.3:8080/')).resolves.toBeDefined();
    await expect(guard('fd00::/8').check('https://[fd00::1]/')).resolves.toBeDefined();
    await expect(guard('localhost').check('http://localhost:3000/')).resolves.toBeDefined();
  });

  it('takes nothing else then', async () => {
    const opened = guard('10.0.0.0/8', 'intranet.corp', '*.corp');
    for (const url of [
      'https://192.168.0.1/',
      'https://loop.example.com/',
      'http://hook.example.com/',
      'https://corp.localhost/',
    ]) {
      await expect(opened.check(url)).rejects.toBeInstanceOf(ForbiddenUrl);
    }
  });
});

describe('a connection to a webhook', () => {
  let hits = 0;
  const server = createServer((_, response) => {
    hits++;
    response.end();
  });
  let port: number;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  const post = (url: string, guarded: WebhookGuard) =>
    new WebhookClient({ guard: guarded, timeoutMs: 2_000 }).post({ url, headers: {}, body: '{}' }).answer;

  it('is not made to a name that has changed its address since its registration (S000-38)', async () => {
    const answers = [[PUBLIC], ['127.0.0.1']];
    const rebinding = new WebhookGuard([], (_, __, done) => answer(answers.shift() ?? ['127.0.0.1'], done));
    const url = `https://rebind.example.com:${port}/`;
    await expect(rebinding.check(url)).resolves.toBeDefined();
    expect(await post(url, rebinding)).toMatchObject({ ok: false, error: 'forbidden address' });
    expect(hits).toBe(0);
  });

  it('is not made to an address that stands in the URL itself', async () => {
    expect(await post(`https://127.0.0.1:${port}/`, guard())).toMatchObject({ error: 'forbidden address' });
    expect(hits).toBe(0);
  });

  it('is made where the operator allows it', async () => {
    expect(await post(`http://127.0.0.1:${port}/`, guard('127.0.0.1'))).toMatchObject({
      ok: true,
      status: 200,
    });
    expect(hits).toBe(1);
  });
});
