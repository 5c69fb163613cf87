import { toJson } from '@bufbuild/protobuf';
import { type Value, ValueSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { eventsOf, type FakeTurnOptions, fakeTurn, told } from '../../../test/support/turn.js';
import { type PartInit, textPart } from '../agent.events.js';
import { codeReviewer } from './code-reviewer.executor.js';
import { REVIEW_RULES } from './review.rules.js';

const play = async (options: FakeTurnOptions) =>
  (await eventsOf(codeReviewer.executor, fakeTurn(options))).map(told);

const DIFF = 'text/x-diff';
/** A diff that adds the lines to a file, after two lines that stay and in the place of one that goes. */
function diffOf(...added: string[]): string {
  const body = added.map((line) => `+${line}`).join('\n');
  return `diff --git a/src/pay.ts b/src/pay.ts
--- a/src/pay.ts
+++ b/src/pay.ts
@@ -10,3 +10,${added.length + 2} @@ export class Pay {
 kept
 kept too
-gone
${body}
`;
}

/** Findings for these added lines, as `severity file:line rule`. */
async function review(...added: string[]): Promise<string[]> {
  const parts = [textPart('Review this against main'), textPart(diffOf(...added), DIFF)];
  return findings({ parts });
}

async function findings(message: FakeTurnOptions['message']): Promise<string[]> {
  const [, review] = await eventsOf(codeReviewer.executor, fakeTurn({ message }));
  const artifact = review?.payload.case === 'artifactUpdate' ? review.payload.value.artifact : undefined;
  const [part] = artifact?.parts ?? [];
  expect(part).toMatchObject({
    filename: 'review.json',
    mediaType: 'application/json',
    content: { case: 'data' },
  });
  const { findings } = toJson(ValueSchema, part?.content.value as Value) as unknown as Review;
  return findings.map(({ severity, file, line, rule }) => `${severity} ${file}:${line} ${rule}`);
}

interface Review {
  readonly findings: { severity: string; file: string; line: number; rule: string; text: string }[];
}

describe('The code reviewer', () => {
  it('reports what it finds in the added lines, by their number in the new file', async () => {
    expect(await review('const a = 1;', 'console.log(a);', 'eval(a)')).toEqual([
      'warning src/pay.ts:13 debug-print',
      'warning src/pay.ts:14 eval',
    ]);
  });

  it.each([
    ['secret', 'const id = "AKIAIOSFODNN7EXAMPLE";'],
    ['secret', `password: 'hunter2hunter2'`],
    ['private-key', '-----BEGIN RSA PRIVATE KEY-----'],
    ['conflict-marker', '<<<<<<< HEAD'],
    ['conflict-marker', '======='],
    ['unverified-tls', 'requests.get(url, verify=False)'],
    ['eval', 'new Function("return 1")'],
    ['debug-print', '  debugger;'],
    ['disabled-test', 'it.skip("works", () => {'],
    ['wide-catch', 'try { pay() } catch {}'],
    ['wide-catch', '    except Exception as e:'],
    ['todo-without-issue', '// TODO: round properly'],
    ['long-line', 'x'.repeat(141)],
  ])('knows the rule %s', async (rule, line) => {
    expect((await review(line)).map((finding) => finding.split(' ').at(-1))).toEqual([rule]);
  });

  it('has at least eight rules', () => {
    expect(REVIEW_RULES.length).toBeGreaterThanOrEqual(8);
  });

  it.each([
    'const password = process.env.PASSWORD;',
    'console.logger = audit;',
    '// TODO #41: round properly',
    '// FIXME PAY-7',
    '======== heading ========',
    'it("skips nothing", () => {',
    'try { pay() } catch (error) { log(error) }',
    'evaluate(order)',
    'x'.repeat(140),
  ])('lets "%s" pass', async (line) => {
    expect(await review(line)).toEqual([]);
  });

  it('looks at added lines only, also where they look like a header of a diff', async () => {
    const diff = diffOf('++ b/other.ts', 'console.log(1)')
      .replace(' kept', ' console.log(2)')
      .replace('-gone', '-eval(x)');
    expect(await findings({ parts: [textPart('base: main'), textPart(diff, DIFF)] })).toEqual([
      'warning src/pay.ts:13 debug-print',
    ]);
  });

  it('takes a diff as raw bytes, with carriage returns and a charset', async () => {
    const value = Buffer.from(diffOf('eval(é)').replaceAll('\n', '\r\n'));
    const part: PartInit = { content: { case: 'raw', value }, mediaType: `${DIFF}; charset=utf-8` };
    expect(await findings({ parts: [textPart('onto release/2.0'), part] })).toEqual([
      'warning src/pay.ts:12 eval',
    ]);
  });

  it('asks for the base branch and goes on with the answer', async () => {
    const first = { parts: [textPart('Please review'), textPart(diffOf('eval(x)'), DIFF)] };

    expect(await play({ message: first })).toEqual(['INPUT_REQUIRED Which branch is the base of this diff?']);
    expect(await play({ before: [first], text: 'hm, not sure' })).toEqual([
      'INPUT_REQUIRED Which branch is the base of this diff?',
    ]);
    expect(await play({ before: [first], text: 'feature/x-1' })).toEqual([
      'WORKING Reviewing 1 added line against feature/x-1',
      'artifact (data)',
      'COMPLETED 1 finding',
    ]);
  });

  it('answers a question with a direct message', async () => {
    const [answer, ...rest] = await play({ text: 'What about wide-catch?' });
    expect(rest).toEqual([]);
    expect(answer).toMatch(/^message .*wide-catch: Catches everything/s);
    expect(answer).not.toContain('debug-print');
  });

  it.each(['', 'nothing like a diff', '--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-gone'])(
    'rejects a diff that adds nothing: "%s"',
    async (diff) => {
      const parts = [textPart('against main'), textPart(diff, DIFF)];
      expect(await play({ message: { parts } })).toEqual([
        expect.stringMatching(/^REJECTED The diff adds no line/),
      ]);
    },
  );

  it('does not fetch a diff behind a URL', async () => {
    const part: PartInit = { content: { case: 'url', value: 'http://127.0.0.1:9/x.diff' }, mediaType: DIFF };
    expect(await play({ message: { parts: [textPart('against main'), part] } })).toEqual([
      expect.stringMatching(/^REJECTED/),
    ]);
  });

  it('takes no images, and diffs by their own type', () => {
    expect(codeReviewer.defaultInputModes).toEqual(['text/plain', 'text/x-diff']);
  });
});
