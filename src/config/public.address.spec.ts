import { describe, expect, it } from 'vitest';
import { publicGrpc, publicUrl } from './public.address.js';

describe('The public address', () => {
  it('is the configured one', () => {
    const config = { host: '0.0.0.0', publicUrl: 'https://a.example/base', publicGrpc: 'a.example:443' };

    expect(publicUrl(config, 8080)).toBe('https://a.example/base');
    expect(publicGrpc(config, 50051)).toBe('a.example:443');
  });

  it.each([
    ['127.0.0.1', '127.0.0.1:8080'],
    ['localhost', 'localhost:8080'],
    ['::1', '[::1]:8080'],
    ['0.0.0.0', '127.0.0.1:8080'],
    ['::', '[::1]:8080'],
  ])('of a listener on %s is %s when none is configured', (host, authority) => {
    const config = { host, publicUrl: undefined, publicGrpc: undefined };

    expect(publicUrl(config, 8080)).toBe(`http://${authority}`);
    expect(publicGrpc(config, 8080)).toBe(authority);
  });
});
