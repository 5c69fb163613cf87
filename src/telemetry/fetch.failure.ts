/** Why a `fetch` failed: its error only says that it did, the cause says why. A cause with several has no words. */
export function fetchFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? error.cause : error;
  return cause.message || (cause as NodeJS.ErrnoException).code || error.message;
}
