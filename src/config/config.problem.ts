/** One thing that is wrong with the configuration. */
export interface ConfigProblem {
  /** The setting as the operator named it: variable, flag, or file with line. */
  readonly where: string;
  /** What is wrong and what to do, one sentence without a full stop. */
  readonly what: string;
}

/** The service cannot start with these settings. The message lists every problem. */
export class ConfigError extends Error {
  override name = 'ConfigError';

  constructor(readonly problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ where, what }) => `  ${where}: ${what}`);
    super(`Parley cannot start with this configuration:\n${lines.join('\n')}`);
  }
}
