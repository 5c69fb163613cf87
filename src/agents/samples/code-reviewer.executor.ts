import { type Message, type Part, Role } from '../../protocol/index.js';
import { AGENT_SETTINGS, type AgentDefinition } from '../agent.definition.js';
import {
  artifact,
  completed,
  dataPart,
  inputRequired,
  message,
  rejected,
  textOf,
  working,
} from '../agent.events.js';
import { type AgentEvent, AgentExecutor, type TurnContext } from '../agent.executor.js';
import { answerIn, declared } from '../extensions/index.js';
import { addedLines } from './diff.lines.js';
import { REVIEW_RULES } from './review.rules.js';

const DIFF = 'text/x-diff';
const MOST_FINDINGS = 500;

/** Reviews the latest diff of the task as soon as its base branch is known; both may come in separate messages. */
export class CodeReviewerExecutor extends AgentExecutor {
  async *execute(turn: TurnContext): AsyncIterable<AgentEvent> {
    const said = turn.history.filter(({ role }) => role === Role.USER);
    const diff = said.map(diffOf).findLast((text) => text !== undefined);
    if (diff === undefined) {
      yield message(answerTo(textOf(turn.message.parts)));
      return;
    }
    const base = said.map((m, i) => branchOf(m, i > 0)).findLast((branch) => branch !== undefined);
    if (base === undefined) {
      yield inputRequired({ id: 'base', kind: 'text', text: 'Which branch is the base of this diff?' });
      return;
    }
    const lines = [...addedLines(diff)];
    if (lines.length === 0) {
      yield rejected('The diff adds no line. A unified diff is wanted, as git diff prints it');
      return;
    }
    yield working(`Reviewing ${counted(lines.length, 'added line')} against ${base}`);
    const findings = lines.flatMap(({ file, line, text }) =>
      REVIEW_RULES.filter((rule) => rule.breaks(text)).map((rule) => ({
        severity: rule.severity,
        file,
        line,
        rule: rule.id,
        text: rule.text,
      })),
    );
    const data = { base, findings: findings.slice(0, MOST_FINDINGS) };
    const part = { ...dataPart(data), filename: 'review.json' };
    yield artifact({ artifactId: 'review', name: 'review.json', parts: [part] });
    yield completed(findings.length === 0 ? 'Nothing found' : counted(findings.length, 'finding'));
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** The text of the message's diff parts, or undefined when it has none. A diff behind a URL is not fetched. */
function diffOf({ parts }: Message): string | undefined {
  const texts = parts.filter(isDiff).map(({ content }) => {
    if (content.case === 'raw') return Buffer.from(content.value).toString('utf8');
    return content.case === 'text' ? content.value : '';
  });
  return texts.length > 0 ? texts.join('\n') : undefined;
}

/** `base: main`, `against main`; an answer may be the bare name, as text or as data. */
function branchOf(message: Message, answer: boolean): string | undefined {
  const said = answerIn(message)?.text ?? textOf(message.parts.filter((part) => !isDiff(part)));
  const text = said.trim();
  const named = /\b(?:base|against|onto)(?:\s+branch)?(?:\s+is)?[:\s]+([\w./-]+)/i.exec(text)?.[1];
  return named ?? (answer ? /^[\w./-]+$/.exec(text)?.[0] : undefined);
}

function isDiff({ mediaType }: Part): boolean {
  return mediaType.split(';')[0]?.trim().toLowerCase() === DIFF;
}

function answerTo(question: string): string {
  const asked = REVIEW_RULES.filter(({ id }) => question.toLowerCase().includes(id));
  const rules = (asked.length > 0 ? asked : REVIEW_RULES).map((rule) => `${rule.id}: ${rule.text}`);
  return `Send me a ${DIFF} part and the base branch. I look at the added lines:\n${rules.join('\n')}`;
}

export const codeReviewer: AgentDefinition = {
  id: 'code-reviewer',
  name: 'Code reviewer',
  description:
    'Reviews a diff and returns its findings as data. Asks for the base branch when none is given.',
  version: '1.0.0',
  skills: [
    {
      id: 'review-diff',
      name: 'Review a diff',
      description: `Checks the added lines of a ${DIFF} part and returns review.json.`,
      tags: ['review', 'code'],
      examples: ['Review this against main', 'Which rules do you know?'],
    },
  ],
  defaultInputModes: ['text/plain', DIFF],
  defaultOutputModes: ['application/json', 'text/plain'],
  extensions: declared('approvals/v1'),
  streaming: true,
  settings: { ...AGENT_SETTINGS, directReplies: true, v03: true },
  executor: new CodeReviewerExecutor(),
};
