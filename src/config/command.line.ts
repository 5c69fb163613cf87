import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { defaultOf, flagOf, SETTING_LIST, variableOf } from './settings.js';

/** The package's version, as `--version` prints it. */
export function packageVersion(): string {
  const source = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(source) as { version: string }).version;
}

/**
 * The flags that were given, by setting name. `--help` and `--version` print and end the process with 0, an
 * unknown flag with 1.
 */
export function readFlags(argv: readonly string[]): Readonly<Record<string, string | undefined>> {
  if (argv.length === 0) return {};
  return commandLine().parse(argv, { from: 'user' }).opts();
}

export function commandLine(): Command {
  const command = new Command('parley')
    .description('A durable A2A task in front of any agent: one service, one Postgres, three bindings.')
    .version(packageVersion())
    .addOption(new Option('--config <file>', 'YAML file with settings [env: PARLEY_CONFIG]'))
    .addHelpText(
      'after',
      '\nA flag wins over its environment variable, that over the file. Secrets have no flag:',
    );
  for (const [name, setting] of SETTING_LIST) {
    const about = `${setting.text} [env: ${variableOf(name)}] [default: ${defaultOf(setting)}]`;
    if (setting.secret)
      command.addHelpText('after', `  ${variableOf(name)}  ${setting.text} (${setting.type})`);
    else command.addOption(new Option(`${flagOf(name)} <${setting.type.replace(/ or /g, '|')}>`, about));
  }
  return command;
}
