/**
 * A call that brought no result. `reason` is the service's own word for it (`TASK_NOT_FOUND`); without one no
 * answer came at all, and nobody knows whether the service did what it was asked.
 */
export class CallFailure extends Error {
  /** Number of the last event of the stream that it ended, where the service said so. @type {number | undefined} */
  lastEventId;

  /** @param {string} message @param {string} [reason] */
  constructor(message, reason) {
    super(message);
    this.reason = reason;
  }

  /** Trying again is right: no answer, or one that says so. */
  get passing() {
    return this.reason === undefined || this.reason === 'UNAVAILABLE' || this.reason === 'ABORTED';
  }
}
