import { describe, expect, it } from 'vitest';
import { PinoLogger } from './pino.logger.js';

function logger(
  logFormat: 'pretty' | 'json' = 'json',
  logLevel: 'info' | 'trace' = 'info',
  logCallers: 'plain' | 'hashed' = 'plain',
) {
  const lines: string[] = [];
  const log = new PinoLogger({ logLevel, logFormat, logCallers }, { write: (line) => lines.push(line) });
  return { log, lines, records: () => lines.map((line) => JSON.parse(line)) };
}

describe('PinoLogger', () => {
  it('writes one JSON object per record with level, context and fields', () => {
    const { log, records } = logger();
    log.warn({ message: 'The receiver is gone', taskId: 't1' }, 'push');
    expect(records()).toEqual([
      { level: 'warn', time: expect.any(String), context: 'push', taskId: 't1', msg: 'The receiver is gone' },
    ]);
  });

  it('changes its level while it runs', () => {
    const { log, lines } = logger();
    log.level = 'debug';
    log.debug('now');
    log.level = 'error';
    log.warn('not any more');
    expect(lines).toHaveLength(1);
    expect(log.level).toBe('error');
  });

  it('hashes callers where that is wanted, the same one always to the same', () => {
    const { log, records } = logger('json', 'info', 'hashed');
    log.log({ message: 'A call was refused', caller: 'acme/alice' });
    log.log({ message: 'login.failed', subject: 'alice', caller: 'acme/alice' });
    const [first, second] = records();
    expect(first.caller).toMatch(/^[0-9a-f]{16}$/);
    expect(second.caller).toBe(first.caller);
    expect(JSON.stringify([first, second])).not.toContain('alice');
  });

  it('blanks what looks like a credential wherever it stands', () => {
    const { log, lines } = logger();
    const jwt = `eyJhbGciOiJFUzI1NiJ9.${'a'.repeat(40)}.${'b'.repeat(40)}`;
    const key = `pk_0123456789abcdef_${'c'.repeat(43)}`;
    log.log({ message: `got ${jwt}`, given: [key, `whsec_${'d'.repeat(32)}`], agent: 'eyes.of.heaven' });
    expect(lines.join()).not.toMatch(/a{40}|b{40}|c{43}|d{32}/);
    expect(lines.join()).toContain('pk_0123456789abcdef_***');
    expect(lines.join()).toContain('eyes.of.heaven');
  });

  it('leaves out what is below the level', () => {
    const { log, lines } = logger();
    log.debug('quiet');
    log.verbose('quieter');
    expect(lines).toEqual([]);
  });

  it('blanks secrets by key at any depth and credentials inside texts', () => {
    const { log, lines } = logger();
    const headers = { authorization: 'Bearer s3cret-a', 'X-Api-Key': 's3cret-b', accept: 'text/plain' };
    log.log({ request: { headers }, config: { operatorToken: 's3cret-c', clientSecret: ['s3cret-d'] } });
    log.error('postgres://parley:s3cret-e@db:5432/x refused Bearer s3cret-f');
    log.error(new Error('Authorization: Basic s3cretg'));
    expect(lines.join('')).not.toContain('s3cret');
    expect(lines[0]).toContain('text/plain');
    expect(lines[1]).toContain('postgres://parley:***@db:5432/x');
  });

  it('spells out errors with their causes, but not the parameters a driver put on them', () => {
    const { log, lines, records } = logger();
    const cause = Object.assign(new TypeError('deep'), { code: 'E42', parameters: ['private text'] });
    log.error({ message: 'Broken', cause: new Error('shallow', { cause }) });
    expect(records()[0]).toMatchObject({
      msg: 'Broken',
      cause: {
        type: 'Error',
        message: 'shallow',
        cause: { type: 'TypeError', message: 'deep', code: 'E42' },
      },
    });
    expect(lines[0]).not.toContain('private text');
  });

  it('never throws, whatever it is given', () => {
    const { log, lines } = logger();
    const loop: Record<string, unknown> = { n: 1n, bytes: new Uint8Array(3) };
    loop.self = loop;
    log.error(loop);
    log.error({
      get trap() {
        throw new Error('caught you');
      },
    });
    log.error(undefined);
    log.error(null, undefined, 'context');
    log.error(Symbol('s'), () => 1);
    expect(lines).toHaveLength(5);
  });

  it('writes a readable line in which no caller can fake another one', () => {
    const { log, lines } = logger('pretty');
    log.log({ message: 'agent said\n12:00:00 ERROR \u001b[31mfake', taskId: 't\n1' }, 'agents');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^[\d:.]{12} INFO {2}\[agents\] agent said\\n12:00:00 ERROR \\u001b\[31mfake taskId="t\\n1"\n$/,
    );
  });

  it('shows the stack of an error below its readable line', () => {
    const { log, lines } = logger('pretty');
    log.error({ message: 'Broken', cause: new RangeError('too\nfar') });
    const [head, frame] = lines[0]!.split('\n');
    expect(head).toMatch(/ERROR Broken cause=RangeError: too\\nfar$/);
    expect(frame).toMatch(/^ {4}at /);
  });
});
