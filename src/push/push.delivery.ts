import { inSpan, markError, traceHeaders } from '../telemetry/index.js';
import { contentType, type PushBodies } from './push.body.js';
import { credentialHeaders, type PushCredentials } from './push.credentials.js';
import type { PushMetrics } from './push.metrics.js';
import type { PushClaim, PushReport, PushStore } from './push.store.js';
import { FAILURES_TO_PAUSE, type ReceiverHosts } from './receiver.hosts.js';
import type { RetrySchedule } from './retry.schedule.js';
import type { WebhookAnswer, WebhookClient, WebhookTry } from './webhook.client.js';
import type { WebhookSigner } from './webhook.signer.js';

/** After this long a claim is given back, so that nobody waits long for it: other configs, or a delete. */
const SLICE_MS = 1_000;
const GONE = 410;
/** No fault of the receiver: the operator may bring the key back. */
const KEY_GONE = 'key gone';

export interface DeliveryServices {
  readonly client: WebhookClient;
  readonly signer: WebhookSigner;
  readonly hosts: ReceiverHosts;
  readonly circuit: Pick<PushStore, 'trip' | 'recover'>;
  readonly schedule: RetrySchedule;
  readonly bodies: PushBodies;
  readonly metrics: PushMetrics;
  readonly unlock: (claim: PushClaim) => PushCredentials;
  /** Told of each claim that is tried no more. */
  readonly givenUp: (claim: PushClaim, answer: WebhookAnswer) => void;
}

/** Posts a claim's events one after the other until one fails or the time is over. */
export class PushDelivery {
  #cursor: number;
  #tries: number;
  #sent = 0;
  #last: WebhookAnswer | undefined;
  #aborted = false;
  #try: WebhookTry | undefined;

  constructor(
    private readonly claim: PushClaim,
    private readonly services: DeliveryServices,
  ) {
    this.#cursor = claim.cursor;
    this.#tries = claim.tries;
  }

  async run(): Promise<PushReport> {
    const { claim, services } = this;
    const { taskId, target } = claim;
    const end = performance.now() + SLICE_MS;
    const credentials = this.#credentials();
    if (!credentials) return this.#failed({ ok: false, error: KEY_GONE, ms: 0 });
    const headers = { 'content-type': contentType(target), ...credentialHeaders(credentials) };
    const signature = services.signer.of({ taskId, configId: target.id }, credentials);
    const bodyOf = services.bodies.of(claim);
    for (const event of claim.events) {
      const body = await bodyOf(event);
      if (body !== undefined) {
        if (this.#aborted || performance.now() > end) return this.#report(0);
        this.#last = await this.#post(event.seq, { ...headers, ...signature(event.seq, body) }, body);
        if (!this.#last.ok) return this.#failed(this.#last);
        await this.#delivered(this.#last);
      }
      this.#cursor = event.seq;
    }
    return this.#report(0);
  }

  /** Breaks off what is being posted. */
  abort(): void {
    this.#aborted = true;
    this.#try?.abort();
  }

  /** Undefined where the key that they were encrypted with is not configured any more. */
  #credentials(): PushCredentials | undefined {
    try {
      return this.services.unlock(this.claim);
    } catch {
      return undefined;
    }
  }

  /** One try, in the trace of the message that it comes of, which goes with it. */
  #post(seq: number, headers: Record<string, string>, body: string): Promise<WebhookAnswer> {
    const { agent, taskId, target, traceparent: parent } = this.claim;
    const attributes = {
      'a2a.agent': agent,
      'a2a.task.id': taskId,
      'a2a.event.seq': seq,
      'server.address': target.host,
    };
    return inSpan('a2a/push', { parent, attributes, outbound: true }, async (span, traceparent) => {
      const traced = { ...headers, ...traceHeaders(traceparent) };
      this.#try = this.services.client.post({ url: target.url, headers: traced, body });
      const answer = await this.#try.answer;
      if (answer.status !== undefined) span.setAttribute('http.response.status_code', answer.status);
      if (!answer.ok && !this.#aborted) markError(span, answer.error);
      return answer;
    });
  }

  async #delivered(answer: WebhookAnswer): Promise<void> {
    const { hosts, circuit, metrics } = this.services;
    const { host } = this.claim.target;
    hosts.succeeded(host);
    // What the database does not hear of, the next probe finds out again.
    if (this.#isProbe) await circuit.recover(host).catch(() => undefined);
    metrics.tried('delivered', answer);
    this.#tries = 0;
    this.#sent++;
  }

  async #failed(answer: WebhookAnswer): Promise<PushReport> {
    const { schedule, metrics, givenUp } = this.services;
    // Broken off by us: the try does not count against the receiver.
    if (this.#aborted) return this.#report(0);
    this.#last = answer;
    if (answer.error !== KEY_GONE) await this.#suspect();
    this.#tries++;
    const gone = answer.status === GONE;
    const pause = gone ? undefined : schedule.pause(this.#tries, answer.retryAfterMs);
    metrics.tried(gone ? 'gone' : pause === undefined ? 'dead' : 'failed', answer);
    if (pause === undefined) givenUp(this.claim, answer);
    return this.#report(pause ?? 0, pause === undefined);
  }

  /** Pauses a host that keeps failing; for longer, where this was its probe. */
  async #suspect(): Promise<void> {
    const { hosts, circuit, metrics } = this.services;
    const { host } = this.claim.target;
    const isFailing = hosts.failed(host);
    if (!isFailing && !this.#isProbe) return;
    await circuit.trip(host, FAILURES_TO_PAUSE, this.#isProbe).catch(() => undefined);
    if (!this.#isProbe) metrics.paused(host);
  }

  /** The first push of a probing claim; the others find the host open. */
  get #isProbe(): boolean {
    return this.claim.probe && this.#sent === 0;
  }

  #report(delayMs: number, dead = false): PushReport {
    const { status, error, ms } = this.#last ?? {};
    return {
      claim: this.claim,
      cursor: this.#cursor,
      sent: this.#sent,
      tries: this.#tries,
      delayMs,
      dead,
      last: ms === undefined ? undefined : { status, error, ms },
    };
  }
}
