import { describe, expect, it } from 'vitest';
import { A2AError, readServiceParameters, resolveVersion } from './index.js';

type Headers = Record<string, string | string[]>;

const read = (headers: Headers, query: Record<string, string> = {}) =>
  readServiceParameters({ header: (name) => headers[name], query: (name) => query[name] });

describe('the version of a call', () => {
  it.each([
    [undefined, '0.3'],
    ['', '0.3'],
    ['  ', '0.3'],
    ['0.3', '0.3'],
    ['0.3.0', '0.3'],
    ['1.0', '1.0'],
    ['1.0.1', '1.0'],
    [' 1.0 ', '1.0'],
    ['1', '1'],
    ['99.0', '99.0'],
    ['1.00', '1.00'],
    ['v1.0', 'v1.0'],
    ['1.0.1.2', '1.0.1.2'],
  ])('reads %j as %s in header, query and metadata', (sent, version) => {
    expect(read(sent === undefined ? {} : { 'a2a-version': sent }).version).toBe(version);
    expect(read({}, sent === undefined ? {} : { 'A2A-Version': sent }).version).toBe(version);
    expect(readServiceParameters({ header: () => sent && [sent] }).version).toBe(version);
  });

  it('is that of the header when the query says otherwise, unless the header is empty', () => {
    expect(read({ 'a2a-version': '1.0' }, { 'A2A-Version': '0.3' }).version).toBe('1.0');
    expect(read({ 'a2a-version': '' }, { 'A2A-Version': '1.0' }).version).toBe('1.0');
  });

  it('is resolved to one that is served', () => {
    expect(resolveVersion('1.0', ['1.0'])).toBe('1.0');
    expect(resolveVersion('0.3', ['1.0', '0.3'])).toBe('0.3');
  });

  it.each(['0.3', '99.0', '1', 'x'.repeat(5000)])(
    'is refused with advice when it is %.10s and only 1.0 is served',
    (raw) => {
      const act = () => resolveVersion(raw, ['1.0']);
      expect(act).toThrow('A2A-Version: 1.0');
      try {
        act();
      } catch (error) {
        const { kind, metadata, message } = error as A2AError;
        expect(kind).toBe('versionNotSupported');
        expect(metadata).toMatchObject({ supported: '1.0', supportedVersions: '1.0' });
        expect(metadata.requested).toBe(raw.length > 200 ? `${raw.slice(0, 200)}…` : raw);
        expect(message.length).toBeLessThan(400);
      }
    },
  );
});

describe('the extensions of a call', () => {
  it.each<[string, Headers, string[]]>([
    ['none', {}, []],
    [
      'a comma list',
      { 'a2a-extensions': 'https://a/1, https://b/2 ,,https://A/1' },
      ['https://a/1', 'https://b/2', 'https://A/1'],
    ],
    [
      'several headers',
      { 'a2a-extensions': ['https://a', 'https://b, https://a'] },
      ['https://a', 'https://b'],
    ],
    ['the name of 0.3', { 'x-a2a-extensions': 'https://a' }, ['https://a']],
    [
      'both names',
      { 'a2a-extensions': 'https://a', 'x-a2a-extensions': 'https://b,https://a' },
      ['https://a', 'https://b'],
    ],
  ])('are merged from %s', (_, headers, extensions) => {
    expect(read(headers).extensions).toEqual(extensions);
  });
});

describe('the last event and the trace of a call', () => {
  it.each<[Headers, number | undefined]>([
    [{ 'last-event-id': '17' }, 17],
    [{ 'a2a-last-event-id': ['0'] }, 0],
    [{ 'last-event-id': '-1' }, undefined],
    [{ 'last-event-id': '1.5' }, undefined],
    [{ 'last-event-id': 'abc' }, undefined],
    [{ 'last-event-id': '9'.repeat(30) }, undefined],
    [{}, undefined],
  ])('reads %j as event %s', (headers, id) => {
    expect(read(headers).lastEventId).toBe(id);
  });

  it('hands on traceparent and tracestate', () => {
    expect(read({ traceparent: '00-ab-cd-01', tracestate: ['a=1', 'b=2'] })).toMatchObject({
      traceparent: '00-ab-cd-01',
      tracestate: 'a=1,b=2',
    });
    expect(read({}).tracestate).toBeUndefined();
  });
});
