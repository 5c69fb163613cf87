import { execFile, execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningService, startService } from '../support/service.js';

/** The Python SDK has to be fetched: `npm run verify -- cards` does it. */
const FULL = process.env.PARLEY_TEST_FULL === 'true';
const WITNESS = new URL('../witness/cards', import.meta.url).pathname;
const run = promisify(execFile);

const hasPython = () => {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const skipped = FULL
  ? !hasPython() && ' (skipped: python3 is not installed)'
  : ' (skipped: npm run verify -- cards runs it)';

const pem = (key: { export(options: { type: 'pkcs8'; format: 'pem' }): string | Buffer }) =>
  key.export({ type: 'pkcs8', format: 'pem' }).toString();
const KEYS = {
  ES256: pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey),
  RS256: pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
};
const AGENT = `id: translator
name: Übersetzer 日本 😀
description: a "quote", a \\ and <b>&amp;</b>
provider: { organization: Żółw, url: https://example.com }
streaming: false
backend: { kind: openai, baseUrl: http://127.0.0.1:1, model: m }
`;

const folder = mkdtempSync(join(tmpdir(), 'parley-card-witness-'));
const python = join(folder, 'venv/bin/python');
let service: RunningService;

describe.skipIf(skipped)(`A card, to the verifier of the Python SDK${skipped || ''}`, () => {
  beforeAll(async () => {
    await run('python3', ['-m', 'venv', join(folder, 'venv')]);
    await run(python, ['-m', 'pip', 'install', '-q', '-r', join(WITNESS, 'requirements.txt')]);
    writeFileSync(join(folder, 'translator.yaml'), AGENT);
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(['ES256', 'RS256'] as const)(
    'is what was signed with %s, and no other (B99, S002-045)',
    async (alg) => {
      const file = join(folder, `${alg}.pem`);
      writeFileSync(file, KEYS[alg]);
      service = await startService({
        env: {
          PARLEY_CARD_SIGNING_KEYS: file,
          PARLEY_AGENTS: 'echo',
          PARLEY_AGENTS_DIR: folder,
          PARLEY_OIDC_ISSUERS: 'https://login.example.com',
          PARLEY_OIDC_AUDIENCE: 'parley',
          PARLEY_API_KEYS: 'true',
        },
      });
      try {
        for (const agent of ['echo', 'translator']) {
          const url = `${service.httpUrl}/agents/${agent}/card`;
          const { stdout } = await run(python, [join(WITNESS, 'verify.py'), url]);
          expect(JSON.parse(stdout)).toMatchObject({ signed: true, tampered: false });
        }
      } finally {
        await service.stop();
      }
    },
    60_000,
  );
});
