import type { SettingValues } from './settings.js';

/** Every setting with its default filled in and its path made absolute. */
export interface ConfigValues extends Readonly<Omit<SettingValues, 'deploymentsFile' | 'agents'>> {
  readonly agents: readonly string[];
  /** The YAML file, where it is the one that says which agents are served. */
  readonly agentsFile?: string;
  readonly deploymentsFile: string;
}

const Frozen = class {
  constructor(values: ConfigValues) {
    Object.freeze(Object.assign(this, values));
  }
} as new (
  values: ConfigValues,
) => ConfigValues;

/** The settings of this process, frozen. Also the token under which they are injected. */
export class Config extends Frozen {}
