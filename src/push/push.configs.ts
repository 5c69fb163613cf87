import { create } from '@bufbuild/protobuf';
import type { SecretCipher } from '../database/index.js';
import {
  A2AError,
  type CallContext,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  invalidField,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  ListTaskPushNotificationConfigsResponseSchema,
  type SendMessageRequest,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from '../protocol/index.js';
import { type Ids, type PushTarget, scopeOf } from '../tasks/index.js';
import { masked, type PushCredentials, readCredentials } from './push.credentials.js';
import type { PushStore, StoredTarget } from './push.store.js';
import { ForbiddenUrl, type WebhookGuard } from './webhook.guard.js';

const LOOK_AGAIN_MS = 20;

export interface PushConfigsOptions {
  readonly store: PushStore;
  readonly guard: WebhookGuard;
  readonly cipher: SecretCipher;
  readonly ids: Ids;
  /** Breaks off what this replica is posting for a config. */
  readonly abort: (taskId: string, id: string) => void;
}

/**
 * The push configs of a caller's own tasks (specification 3.1.7 to 3.1.10). Secrets go in and never come out:
 * every answer masks them.
 */
export class PushConfigs {
  constructor(private readonly options: PushConfigsOptions) {}

  /** @throws A2AError `taskNotFound`, `invalidParams` (address, credentials, one too many) */
  async create(config: TaskPushNotificationConfig, call: CallContext): Promise<TaskPushNotificationConfig> {
    const target = await this.#target(config, call, '');
    await this.options.store.add(config.taskId, scopeOf(call), target);
    return this.#shown({ ...target, taskId: config.taskId });
  }

  /** The config that a message brings along, ready to be stored with it. @throws A2AError `invalidParams` */
  async prepare({ configuration, message }: SendMessageRequest, call: CallContext) {
    const config = configuration?.taskPushNotificationConfig;
    if (!config) return undefined;
    const at = 'configuration.taskPushNotificationConfig.';
    if (config.taskId && config.taskId !== message?.taskId)
      throw invalidField(`${at}taskId`, 'is not the task of the message');
    return this.#target(config, call, at);
  }

  /** @throws A2AError `taskNotFound`, also for a config that is not there */
  async get({ taskId, id }: GetTaskPushNotificationConfigRequest, call: CallContext) {
    const found = (await this.#list(taskId, call)).find((target) => target.id === id);
    if (!found) {
      throw new A2AError('taskNotFound', {
        message: 'The task has no such push configuration',
        metadata: { taskId, pushNotificationConfigId: id },
      });
    }
    return this.#shown(found);
  }

  /** @throws A2AError `taskNotFound`, `invalidParams` */
  async list(
    { taskId, pageSize, pageToken }: ListTaskPushNotificationConfigsRequest,
    call: CallContext,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    const all = await this.#list(taskId, call);
    const last = Buffer.from(pageToken, 'base64url').toString();
    const before = all.findIndex(({ id }) => id === last);
    if (pageToken && before < 0) throw invalidField('pageToken', 'is not a token of this list');
    const rest = all.slice(before + 1);
    const page = rest.slice(0, pageSize || rest.length);
    const more = page.length < rest.length;
    return create(ListTaskPushNotificationConfigsResponseSchema, {
      configs: page.map((target) => this.#shown(target)),
      nextPageToken: more ? Buffer.from(page.at(-1)!.id).toString('base64url') : '',
    });
  }

  /**
   * Resolves once nothing is posted for it any more, on any replica; that can take as long as a receiver takes
   * to answer. One that is not there counts as deleted.
   * @throws A2AError `taskNotFound`
   */
  async delete({ taskId, id }: DeleteTaskPushNotificationConfigRequest, call: CallContext): Promise<void> {
    const { store, abort } = this.options;
    const claim = await store.remove(taskId, scopeOf(call), id);
    if (claim === undefined) throw new A2AError('taskNotFound', { metadata: { taskId } });
    if (claim === null) return;
    abort(taskId, id);
    while (await store.isHeld(taskId, id, claim)) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    }
  }

  /** What a receiver is to know us by. @throws Error where the key that it was encrypted with is gone */
  unlock({ id, secret }: PushTarget): PushCredentials {
    return secret ? (JSON.parse(this.options.cipher.decrypt(secret, id)) as PushCredentials) : {};
  }

  async #target(config: TaskPushNotificationConfig, call: CallContext, at: string): Promise<PushTarget> {
    const { guard, cipher, ids } = this.options;
    const credentials = readCredentials(config, at);
    const id = config.id || ids.next();
    try {
      const { href, host } = await guard.check(config.url);
      const filled = Object.values(credentials).some((value) => value !== undefined);
      const secret = filled ? cipher.encrypt(JSON.stringify(credentials), id) : undefined;
      return { id, url: href, host, secret, version: call.version, extensions: call.extensions };
    } catch (error) {
      if (error instanceof ForbiddenUrl) throw invalidField(`${at}url`, error.message);
      throw error;
    }
  }

  async #list(taskId: string, call: CallContext): Promise<StoredTarget[]> {
    const all = await this.options.store.list(taskId, scopeOf(call));
    if (!all) throw new A2AError('taskNotFound', { metadata: { taskId } });
    return all;
  }

  #shown(target: StoredTarget): TaskPushNotificationConfig {
    const { id, taskId, url } = target;
    return create(TaskPushNotificationConfigSchema, { id, taskId, url, ...masked(this.#unlocked(target)) });
  }

  /** A config whose key is gone can be seen, replaced and deleted all the same. */
  #unlocked(target: PushTarget): PushCredentials {
    try {
      return this.unlock(target);
    } catch {
      return {};
    }
  }
}
