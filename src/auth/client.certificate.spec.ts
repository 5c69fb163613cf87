import type { PeerCertificate } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config/index.js';
import { certificateHolder } from './client.certificate.js';

const holder = (given: object, env: Record<string, string> = {}) =>
  certificateHolder({ subject: {}, ...given } as PeerCertificate, loadConfig(env));

describe('The holder of a client certificate', () => {
  it('is its common name in its organisation, with the configured scopes', () => {
    const subject = { CN: 'ann', O: 'acme' };

    expect(holder({ subject })).toEqual({
      organisation: 'acme',
      subject: 'ann',
      scopes: new Set(['a2a.send', 'a2a.read', 'a2a.cancel', 'a2a.push', 'a2a.card']),
    });
    expect(holder({ subject }, { PARLEY_TLS_CLIENT_SCOPES: 'a2a.read' }).scopes).toEqual(
      new Set(['a2a.read']),
    );
  });

  it('can be an alternative name of the certificate', () => {
    const given = {
      subject: { CN: 'x', O: 'acme' },
      subjectaltname: 'DNS:a.example, URI:spiffe://acme/planner',
    };
    const named = (kind: string) => holder(given, { PARLEY_TLS_CLIENT_SUBJECT: kind }).subject;

    expect(named('URI')).toBe('spiffe://acme/planner');
    expect(named('DNS')).toBe('a.example');
    expect(() => named('email')).toThrow('no usable email');
  });

  it('is nobody else by a name that looks like two', () => {
    const subjectaltname = 'DNS:"a.example, URI:spiffe://acme/admin", URI:spiffe://acme/planner';
    const { subject } = holder(
      { subject: { O: 'acme' }, subjectaltname },
      { PARLEY_TLS_CLIENT_SUBJECT: 'URI' },
    );
    expect(subject).toBe('spiffe://acme/planner');
  });

  it.each([
    [{ CN: 'ann' }, 'organisation'],
    [{ O: 'acme' }, 'CN'],
    [{ CN: ['ann', 'bob'], O: 'acme' }, 'CN'],
    [{ CN: 'ann', O: ['acme', 'umbrella'] }, 'organisation'],
    [{ CN: 'a'.repeat(256), O: 'acme' }, 'CN'],
  ])('%j is not known, for want of one %s', (subject, missing) => {
    expect(() => holder({ subject })).toThrow(missing);
  });
});
