import { setTimeout as after } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Config, ConfigError } from '../config/index.js';
import {
  ForbiddenUrl,
  RetrySchedule,
  type WebhookAnswer,
  WebhookClient,
  WebhookGuard,
  WebhookSigner,
  type WebhookTry,
} from '../push/index.js';
import { TaskStore, WaitLog, type WaitNotice } from '../tasks/index.js';
import { noticeBody } from './approval.notice.js';
import { WaitWatch } from './wait.watch.js';

const LOOK_MS = 1_000;
/** Notices of one look; they are few, and go out together. */
const MOST = 20;
/** A try that had begun, and time for the report. */
const SLACK_MS = 10_000;
const GONE = 410;

/**
 * Tells a chat or ticket system which tasks begin to wait, and which have gone on: signed, at least once, retried as
 * pushes are, by whichever replica comes first.
 *
 *   wait begins --due--> claimed --2xx--> told --wait ends--> due again --2xx--> told all
 *                          |  ^--pause--'                     (a wait that ended before it was told is not told)
 *                          '--410, or the last try--> given up, and logged
 */
@Injectable()
export class ApprovalWebhook implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #stop = new AbortController();
  readonly #tries = new Set<WebhookTry>();
  readonly #client: WebhookClient;
  readonly #signer: WebhookSigner;
  readonly #schedule: RetrySchedule;
  #running: Promise<void> | undefined;

  /** @throws ConfigError where the address may not be posted to */
  constructor(
    private readonly config: Config,
    private readonly watch: WaitWatch,
    private readonly waits: WaitLog,
    private readonly tasks: TaskStore,
  ) {
    const { pushAllow, pushTimeoutMs: timeoutMs, pushProxy: proxy, approvalSecret } = config;
    const guard = new WebhookGuard(pushAllow);
    if (config.approvalWebhook !== undefined) checkAddress(guard, config.approvalWebhook);
    this.#client = new WebhookClient({ guard, timeoutMs, proxy });
    this.#signer = new WebhookSigner(approvalSecret === undefined ? [] : [approvalSecret]);
    this.#schedule = new RetrySchedule(config.pushRetryMs);
  }

  onApplicationBootstrap(): void {
    const { approvalWebhook } = this.config;
    if (approvalWebhook !== undefined) this.#running = this.#run(approvalWebhook);
  }

  async onModuleDestroy(): Promise<void> {
    this.#stop.abort();
    for (const attempt of this.#tries) attempt.abort();
    await this.#running;
    await this.#client.close();
  }

  async #run(url: string): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const more = await this.#tell(url).catch((cause: unknown) => {
        LOG.warn({ message: 'The approval webhook could not be told; it is tried again', cause });
        return false;
      });
      if (!more) await after(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** True: there may be more. */
  async #tell(url: string): Promise<boolean> {
    await this.watch.look();
    const notices = await this.waits.notices(MOST, this.config.pushTimeoutMs + SLACK_MS);
    await Promise.all(notices.map((notice) => this.#post(url, notice)));
    return notices.length === MOST;
  }

  async #post(url: string, notice: WaitNotice): Promise<void> {
    const found = await this.tasks.find(notice.taskId);
    const body = noticeBody(notice, found, this.config);
    if (body === undefined) return this.waits.report(notice, 'told');
    const { taskId, number: seq } = notice;
    const signed = this.#signer.of({ taskId, configId: 'approvals' }, {})(seq, body);
    const headers = { 'content-type': 'application/json', ...signed };
    const attempt = this.#client.post({ url, headers, body });
    this.#tries.add(attempt);
    const answer = await attempt.answer;
    this.#tries.delete(attempt);
    // Broken off by us: the claim runs out, and the next replica tells it.
    if (!answer.ok && this.#stop.signal.aborted) return;
    await this.waits.report(notice, answer.ok ? 'told' : this.#pause(notice, answer));
  }

  /** Until the next try; undefined after the last one. */
  #pause(notice: WaitNotice, { status, error, retryAfterMs }: WebhookAnswer): number | undefined {
    const pause = status === GONE ? undefined : this.#schedule.pause(notice.tries + 1, retryAfterMs);
    if (pause === undefined) {
      LOG.error({
        message: 'The approval webhook took no notice of a waiting task after the last try',
        task: notice.taskId,
        status,
        reason: error,
      });
    }
    return pause;
  }
}

/** The address may hold a credential, so that nothing of it is said. */
function checkAddress(guard: WebhookGuard, url: string): void {
  try {
    guard.parse(url);
  } catch (error) {
    if (!(error instanceof ForbiddenUrl)) throw error;
    const what = `the URL ${error.message}; PARLEY_PUSH_ALLOW opens hosts inside the network`;
    throw new ConfigError([{ where: 'PARLEY_APPROVAL_WEBHOOK', what }]);
  }
}

const LOG = new Logger('Approvals');
