import { describe, expect, it } from 'vitest';
import { SecretCipher } from './secret.cipher.js';

const key = (name: string, fill: number) => `${name}=${Buffer.alloc(32, fill).toString('base64')}`;

describe('the cipher of secrets', () => {
  it('opens what it has sealed, each time another text', () => {
    const cipher = new SecretCipher([key('a', 1)]);
    const [one, two] = [cipher.encrypt('hunter2 ü', 'place'), cipher.encrypt('hunter2 ü', 'place')];
    expect(one).not.toBe(two);
    expect([one, two].map((sealed) => cipher.decrypt(sealed, 'place'))).toEqual(['hunter2 ü', 'hunter2 ü']);
  });

  it('opens with an older key what the newest one did not seal', () => {
    const sealed = new SecretCipher([key('old', 1)]).encrypt('hunter2', 'place');
    const rotated = new SecretCipher([key('new', 2), key('old', 1)]);
    expect(rotated.decrypt(sealed, 'place')).toBe('hunter2');
    expect(rotated.encrypt('hunter2', 'place')).toMatch(/^new\./);
    expect(() => new SecretCipher([key('new', 2)]).decrypt(sealed, 'place')).toThrow('"old"');
  });

  it('does not open a text that was changed or moved', () => {
    const cipher = new SecretCipher([key('a', 1)]);
    const sealed = cipher.encrypt('hunter2', 'place');
    const changed = sealed.slice(0, -4) + (sealed.endsWith('AAA=') ? 'BBB=' : 'AAA=');
    expect(() => cipher.decrypt(changed, 'place')).toThrow();
    expect(() => cipher.decrypt(sealed, 'elsewhere')).toThrow();
  });
});
