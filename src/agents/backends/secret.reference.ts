import { readFileSync } from 'node:fs';
import { environment } from '../../config/index.js';

const REFERENCE = /\$\{(env|file):([^}]+)\}/g;

/** How a text of the configuration refers to a credential. It never holds the credential itself. */
export const REFERENCES = `\${env:NAME} or \${file:/run/secrets/name}`;

/** Whether the text refers to something outside of the configuration. */
export function hasReference(text: string): boolean {
  return new RegExp(REFERENCE).test(text);
}

/** What each reference of the text lacks, as advice; empty when all can be followed. */
export function missingReferences(text: string): string[] {
  return [...text.matchAll(REFERENCE)].flatMap(([, kind, name = '']) => {
    if (read(kind, name) !== undefined) return [];
    return kind === 'env' ? `set the variable ${name}` : `the file ${name} cannot be read`;
  });
}

/** The text with its references filled in, read anew each time: a file may be rotated. Never to be logged. */
export function withSecrets(text: string): string {
  return text.replace(REFERENCE, (_, kind: string, name: string) => {
    const value = read(kind, name);
    if (value === undefined) throw new Error(`The reference to ${kind} ${name} leads nowhere`);
    return value;
  });
}

export function recordWithSecrets(texts: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, withSecrets(text)]));
}

function read(kind: string | undefined, name: string): string | undefined {
  if (kind === 'env') return environment[name] || undefined;
  try {
    return readFileSync(name, 'utf8').trimEnd();
  } catch {
    return undefined;
  }
}
