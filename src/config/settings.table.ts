import { defaultOf, SETTING_LIST, variableOf } from './settings.js';

/** Between these lines of the README stands the table. */
const START = '<!-- config:start -->';
const END = '<!-- config:end -->';

/** The README with the table of all settings as this release has them. @throws Error without the two marks */
export function withSettingsTable(readme: string): string {
  const start = readme.indexOf(START);
  const end = readme.indexOf(END);
  if (start < 0 || end < start) throw new Error(`The README needs the lines ${START} and ${END}`);
  return `${readme.slice(0, start)}${START}\n${settingsTable()}\n${readme.slice(end)}`;
}

function settingsTable(): string {
  const rows = SETTING_LIST.map(([name, setting]) => [
    `\`${variableOf(name)}\``,
    setting.type,
    shown(defaultOf(setting)),
    setting.text.replaceAll('|', '\\|'),
  ]);
  const head = ['Variable', 'Value', 'Default', 'Meaning'];
  const widths = head.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column]!)].map(({ length }) => length)),
  );
  const lines = [head, widths.map((width) => '-'.repeat(width)), ...rows];
  return lines
    .map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`)
    .join('\n');
}

/** A value in code style, words about it as they are. */
const shown = (value: string) => (value.startsWith('(') ? value.slice(1, -1) : `\`${value}\``);
