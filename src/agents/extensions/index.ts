import { approvals } from './approvals.extension.js';
import { effects } from './effects.extension.js';
import type { Extension } from './extension.js';
import { files } from './files.extension.js';
import { progress } from './progress.extension.js';
import { usage } from './usage.extension.js';

export { type Answer, answerIn, Question, questionIn } from './approvals.extension.js';
export { Effects } from './effects.extension.js';
export { type Extended, extended } from './extended.js';
export type { Extension } from './extension.js';
export { FileVersion } from './files.extension.js';
export { Progress } from './progress.extension.js';
export { Usage } from './usage.extension.js';

/** The service's own extensions. */
export const EXTENSIONS: readonly Extension[] = [approvals, progress, usage, effects, files];

/** What a card declares of these; names are such as `progress/v1`. */
export function declared(...names: readonly Extension['name'][]): { uri: string; description: string }[] {
  return EXTENSIONS.filter(({ name }) => names.includes(name)).map(({ uri, description }) => ({
    uri,
    description,
  }));
}
