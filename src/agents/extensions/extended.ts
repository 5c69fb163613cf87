import type { JsonObject } from '@bufbuild/protobuf';
import { EXTENSION_URIS } from '../../protocol/index.js';
import type { Answer, Question } from './approvals.extension.js';
import type { Effects } from './effects.extension.js';
import type { FileVersion } from './files.extension.js';
import type { Progress } from './progress.extension.js';
import type { Usage } from './usage.extension.js';

/** What an agent has to say in the words of the extensions. */
export interface Extended {
  readonly question?: Question;
  readonly answer?: Answer;
  readonly progress?: Progress['steps'];
  readonly usage?: Usage;
  readonly effects?: Effects['effects'];
  readonly file?: FileVersion;
}

/** The same as metadata: of a status update (progress, usage, effects), a message (question) or an artifact (file). */
export function extended({ question, answer, progress, usage, effects, file }: Extended): JsonObject {
  const { approvals, ...uris } = EXTENSION_URIS;
  return plain({
    [approvals]: question || answer ? { question, answer } : undefined,
    [uris.progress]: progress && { steps: progress },
    [uris.usage]: usage,
    [uris.effects]: effects && { effects },
    [uris.files]: file,
  });
}

/** Without what is undefined, which metadata has no word for. */
function plain(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
