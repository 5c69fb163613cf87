import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Document, isMap, isNode, isSeq, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { ConfigProblem } from '../config/index.js';
import { AgentFile } from './agent.schema.js';
import { missingReferences } from './backends/secret.reference.js';

/** An agent of the configuration, where it stands, and what its paths start from. */
export interface AgentSource {
  readonly agent: AgentFile;
  readonly folder: string;
  /** File and line. */
  readonly where: string;
}

/** What was found, the good beside the bad. */
export interface AgentSources {
  readonly sources: readonly AgentSource[];
  readonly problems: readonly ConfigProblem[];
}

type Path = readonly PropertyKey[];
const NONE: AgentSources = { sources: [], problems: [] };

/** The agents that the list `agents` of a YAML file describes; ids of built-in ones are passed over. */
export function agentsInFile(path: string): AgentSources {
  const file = open(path);
  if ('problems' in file) return file;
  const list = file.document.get('agents');
  if (!isSeq(list)) return NONE;
  return merged(list.items.map((item, n) => (isMap(item) ? file.agent(['agents', n]) : NONE)));
}

/** The agents of a folder, one in each `.yaml`, `.yml` or `.json` file, in the order of the names. */
export function agentsInFolder(folder: string): AgentSources {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => /^[^.].*\.(ya?ml|json)$/.test(name));
  } catch (error) {
    return failed(folder, `the folder cannot be read (${codeOf(error)})`);
  }
  return merged(
    names.sort().map((name) => {
      const file = open(join(folder, name));
      return 'problems' in file ? file : file.agent([]);
    }),
  );
}

function open(path: string): AgentSources | AgentsDocument {
  try {
    return new AgentsDocument(path, readFileSync(path, 'utf8'));
  } catch (error) {
    return failed(path, `the file cannot be read (${codeOf(error)})`);
  }
}

/** A YAML file that knows its lines. */
class AgentsDocument {
  readonly document: Document;
  readonly #lines = new LineCounter();

  constructor(
    private readonly path: string,
    text: string,
  ) {
    this.document = parseDocument(text, { lineCounter: this.#lines });
  }

  agent(path: Path): AgentSources {
    if (this.document.errors.length > 0) return this.#broken();
    const value: unknown = isNode(this.#node(path)) ? this.#node(path)?.toJS(this.document) : undefined;
    const result = AgentFile.safeParse(value, { reportInput: true });
    if (!result.success) {
      return { sources: [], problems: result.error.issues.flatMap((issue) => this.#problems(issue, path)) };
    }
    const agent = result.data;
    const problems = this.#deadReferences(agent, path);
    const folder = dirname(resolve(this.path));
    return { sources: [{ agent, folder, where: this.#where(path) }], problems };
  }

  #broken(): AgentSources {
    const problems = this.document.errors.map(({ pos, message }) => ({
      where: `${this.path}:${this.#lines.linePos(pos[0]).line}`,
      what: (message.split('\n')[0] ?? 'not valid YAML').replace(/ at line \d+.*$/, ''),
    }));
    return { sources: [], problems };
  }

  /** Says where and what to give, never the value: it may be a secret. */
  #problems(issue: z.core.$ZodIssue, base: Path): ConfigProblem[] {
    const path = [...base, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        where: this.#where([...path, key], base),
        what: 'there is no such setting of an agent; npx parley schema shows them all',
      }));
    }
    const missing = issue.input === undefined ? 'missing; ' : '';
    return [{ where: this.#where(path, base), what: `${missing}${issue.message}` }];
  }

  #deadReferences(value: unknown, path: Path, base: Path = path): ConfigProblem[] {
    if (typeof value === 'string') {
      return missingReferences(value).map((what) => ({ where: this.#where(path, base), what }));
    }
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([key, child]) => this.#deadReferences(child, [...path, key], base));
  }

  #where(path: Path, base: Path = path): string {
    const name = path.slice(base.length).join('.');
    return `${this.path}:${this.#line(path)}${name && ` ${name}`}`;
  }

  /** The line of the nearest thing that is there. */
  #line(path: Path): number {
    for (let length = path.length; length >= 0; length--) {
      const node = this.#node(path.slice(0, length));
      if (node?.range) return this.#lines.linePos(node.range[0]).line;
    }
    return 1;
  }

  #node(path: Path) {
    const node: unknown = path.length === 0 ? this.document.contents : this.document.getIn(path, true);
    return isNode(node) ? node : undefined;
  }
}

function merged(all: readonly AgentSources[]): AgentSources {
  return {
    sources: all.flatMap(({ sources }) => sources),
    problems: all.flatMap(({ problems }) => problems),
  };
}

const failed = (where: string, what: string): AgentSources => ({ sources: [], problems: [{ where, what }] });

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
