import { createSocket, type Socket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ReceiverNames } from './receiver.names.js';

const NAME = 'hook.example.com';
const A = 1;

/** Answers with 192.0.2.1 for {@link NAME}, with "no such name" for names below `invalid`, and not at all for others. */
function answer(question: Buffer): Buffer | undefined {
  const labels: string[] = [];
  let at = 12;
  for (let length = question[at]!; length > 0; length = question[at]!) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const name = labels.join('.');
  if (name !== NAME && labels.at(-1) !== 'invalid') return undefined;
  const isFound = name === NAME && question.readUInt16BE(at + 1) === A;
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(name === NAME ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(isFound ? 1 : 0, 6);
  head.fill(0, 8);
  const record = Buffer.from('c00c00010001000000000004c0000201', 'hex');
  return Buffer.concat([head, question.subarray(12, at + 5), ...(isFound ? [record] : [])]);
}

let server: Socket;
let names: ReceiverNames;
beforeAll(async () => {
  server = createSocket('udp4');
  server.on('message', (question, { port, address }) => {
    const reply = answer(question);
    if (reply) server.send(reply, port, address);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  names = new ReceiverNames([`127.0.0.1:${(server.address() as AddressInfo).port}`]);
});
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));

const find = (host: string) =>
  new Promise<LookupAddress[]>((resolve, reject) =>
    names.lookup(host, { all: true }, (error, found) => (error ? reject(error) : resolve(found))),
  );

describe('the names of receivers', () => {
  it('are found by DNS', async () => {
    expect(await find(NAME)).toEqual([{ address: '192.0.2.1', family: 4 }]);
  });

  it('that DNS cannot know are found by the system', async () => {
    expect(await find('localhost')).toEqual(expect.arrayContaining([{ address: '127.0.0.1', family: 4 }]));
    await expect(find('hook.invalid')).rejects.toMatchObject({ code: 'ENOTFOUND', syscall: 'getaddrinfo' });
  });

  it('hold up no other look-up while their name servers do not answer', async () => {
    let silent = 20;
    const lost = Array.from({ length: silent }, (_, n) =>
      find(`n${n}.silent.example`).catch((error) => {
        silent--;
        return error.code;
      }),
    );
    await lookup('localhost');
    expect(silent).toBe(20);
    expect(await Promise.all(lost)).toEqual(Array(20).fill('ETIMEOUT'));
  });
});
