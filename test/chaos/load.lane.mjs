import { setTimeout as delay } from 'node:timers/promises';
import { CallFailure } from './callers/call.failure.mjs';
import { isAtRest, isTerminal } from './journal.mjs';

/** A client that got no answer for this long says so and turns to something else. */
const PATIENCE_MS = 120_000;

/** How often each thing is done. */
const WEIGHTS = { echo: 3, chunks: 2, stream: 4, subscribe: 3, ask: 3, cancel: 3, get: 2, list: 1, race: 2 };

/** One client that does one thing after another, each on a replica and binding that it picks by chance. */
export class LoadLane {
  #last = 0;

  /**
   * @param {{name: string, random: import('./seeded.random.mjs').SeededRandom,
   *   fleet: import('./fleet.mjs').Fleet, journal: import('./journal.mjs').Journal}} given
   */
  constructor({ name, random, fleet, journal }) {
    Object.assign(this, { name, random, fleet, journal });
  }

  /** Goes on until the time; what was begun is brought to its end. @param {number} end of performance.now() */
  async run(end) {
    while (performance.now() < end) {
      const kind = this.random.weighted(WEIGHTS);
      const start = performance.now();
      try {
        await this[kind]();
        this.journal.done(kind, performance.now() - start);
      } catch (error) {
        if (!(error instanceof CallFailure)) throw error;
        if (error.passing) this.journal.gaveUp.push(`${kind}: ${error.message}`);
        else this.journal.wrong.push(`${kind}: ${error.message}`);
      }
    }
  }

  echo() {
    return this.#sendToRest(`hello ${this.random.between(1, 1e6)}`);
  }

  chunks() {
    return this.#sendToRest(this.#chunksText());
  }

  /** A stream from the first message on. */
  stream() {
    const message = this.#message(this.#chunksText());
    return this.#follow({ message });
  }

  /** Sends without waiting and follows from elsewhere, now and then with a second reader. */
  async subscribe() {
    const task = await this.#send(this.#message(this.#chunksText()), true);
    const readers = [this.#follow({ taskId: task.id })];
    if (this.random.next() < 0.3) readers.push(this.#follow({ taskId: task.id }));
    await Promise.all(readers);
  }

  /** A question of the agent, mostly answered. */
  async ask() {
    const task = await this.#sendToRest('ask');
    if (task.status.state !== 'TASK_STATE_INPUT_REQUIRED') return;
    const answer = this.random.weighted({ none: 1, send: 3, stream: 3 });
    if (answer === 'none') return;
    const message = { ...this.#message(this.#chunksText()), taskId: task.id };
    if (answer === 'stream') await this.#follow({ message });
    else await this.#send(message, false);
  }

  /** Cancels a running task from another replica. */
  async cancel() {
    const text = this.random.next() < 0.5 ? `sleep ${this.random.between(300, 3_000)}` : this.#chunksText();
    const { id } = await this.#send(this.#message(text), true);
    await delay(this.random.between(0, 800));
    try {
      const { status } = await this.#persist((caller) => caller.call('cancel', { id }));
      if (status.state !== 'TASK_STATE_CANCELED') this.journal.wrong.push(`cancel answered ${status.state}`);
      this.journal.told(id, status.state);
    } catch (error) {
      if (error.reason !== 'TASK_NOT_CANCELABLE') throw error;
    }
  }

  /** Reads a task that some client was given before. */
  async get() {
    const id = this.journal.anyTask(this.random);
    if (id) await this.#get(id);
  }

  async list() {
    const { tasks } = await this.#persist((caller) => caller.call('list', { pageSize: 20 }));
    for (const { id, status } of tasks) this.journal.told(id, status.state);
  }

  /** The same message through two replicas at once: one task. */
  async race() {
    const message = this.#message(`hello ${this.random.between(1, 1e6)}`);
    await Promise.all([this.#send(message, true), this.#send(message, false)]);
  }

  #chunksText() {
    return `chunks ${this.random.between(3, 60)} ${this.random.between(5, 60)}`;
  }

  /** Waits for the task to rest. A replica that goes down answers with the running task: then it is followed. */
  async #sendToRest(text) {
    const task = await this.#send(this.#message(text), false);
    if (isAtRest(task.status.state)) return task;
    this.journal.early += 1;
    await this.#follow({ taskId: task.id });
    return this.#get(task.id);
  }

  #message(text) {
    this.#last += 1;
    return { messageId: `${this.name}-${this.#last}`, role: 'ROLE_USER', parts: [{ text }] };
  }

  async #send(message, returnImmediately) {
    const request = { message, configuration: { returnImmediately } };
    const { task } = await this.#persist((caller) => caller.call('send', request));
    this.journal.accepted(message.messageId, message.parts[0].text, task);
    return task;
  }

  async #get(id) {
    const task = await this.#persist((caller) => caller.call('get', { id }));
    this.journal.told(id, task.status.state);
    return task;
  }

  /**
   * Follows a task until it rests: by the stream of a message, or by a subscription. After a break it goes on
   * elsewhere, after the last event whose number it knows: on gRPC that is known where the service ended the stream.
   */
  async #follow(followed) {
    const course = { ...followed, state: undefined, last: undefined };
    await this.#persist(async (caller) => {
      try {
        await this.#read(caller, course);
      } catch (error) {
        course.last = error.lastEventId ?? course.last;
        // Nothing to subscribe to: it has ended while nobody looked.
        if (error.reason !== 'UNSUPPORTED_OPERATION' || !course.taskId) throw error;
        course.state = (await this.#get(course.taskId)).status.state;
      }
      if (!isAtRest(course.state)) throw new CallFailure('the stream ended early');
    });
  }

  /** One connection of a stream, recorded frame by frame. */
  async #read(caller, course) {
    const { taskId, message, last: after } = course;
    const record = { taskId, binding: caller.binding, after, frames: [], whole: false };
    const resumes = after !== undefined;
    const stream = taskId
      ? caller.open('subscribe', { id: taskId }, after)
      : caller.open('stream', { message });
    for await (const frame of stream) {
      if (record.frames.length === 0 && !resumes && !frame.event.task) {
        this.journal.wrong.push(`a stream began with ${JSON.stringify(frame.event).slice(0, 200)}`);
        return;
      }
      if (record.frames.length === 0) this.journal.streams.push(record);
      record.frames.push(frame);
      const { task, statusUpdate } = frame.event;
      if (task && !taskId) {
        record.taskId = course.taskId = task.id;
        this.journal.accepted(message.messageId, message.parts[0].text, task);
      }
      course.last = frame.seq ?? course.last;
      course.state = (task ?? statusUpdate)?.status.state ?? course.state;
      this.journal.told(record.taskId, course.state ?? '');
      // A subscription to a task that waits for an answer stays open.
      if (isAtRest(course.state ?? '') && !isTerminal(course.state)) return;
    }
    record.whole = true;
  }

  /** Tries on replica after replica until one answers. */
  async #persist(attempt) {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await attempt(await this.fleet.pick(this.random));
      } catch (error) {
        if (!(error instanceof CallFailure) || !error.passing || performance.now() > end) throw error;
        this.journal.retries += 1;
        await delay(this.random.between(50, 250));
      }
    }
  }
}
