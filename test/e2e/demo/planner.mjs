// @ts-check
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** @typedef {import('./demo.service.mjs').DemoService} DemoService */
/** @typedef {import('./sdk.client.mjs').DemoClient} DemoClient */

const CHANGE = `diff --git a/cart/cart.js b/cart/cart.js
--- a/cart/cart.js
+++ b/cart/cart.js
@@ -9,3 +9,6 @@ export class Cart {
   remove(article) {
+    // TODO: tell the warehouse
+    console.log('removed', article);
+    try { notify(article); } catch {}
     return this.#lines.delete(article);
   }
`;

/**
 * A planner that brings a change to staging: it has the tests run, the change reviewed and the release
 * deployed, each by the agent for it. Tells what happens, and throws when it is not what should.
 */
export class Planner {
  /** @param {DemoService} service @param {DemoClient} client */
  constructor(service, client) {
    this.service = service;
    this.client = client;
  }

  async work() {
    await this.#runTests();
    await this.#review();
    await this.#tryProduction();
    await this.#deployToStaging();
  }

  async #runTests() {
    const run = await this.#converse('test-runner', { text: 'Run the cart and price tests' });
    assert.equal(run.state, 'COMPLETED');
    assert.deepEqual({ ...run.data.summary, durationMs: 0 }, { passed: 7, failed: 0, durationMs: 0 });
    assert.match(run.text['test-log'] ?? '', /✔ a new cart is empty/);
  }

  async #review() {
    const change = { text: CHANGE, mediaType: 'text/x-diff', filename: 'cart.diff' };
    const asked = await this.#request('code-reviewer', {
      text: 'Please review this change',
      parts: [change],
    });
    assert.equal(asked.state, 'INPUT_REQUIRED');
    const review = await this.#request('code-reviewer', { text: 'main', taskId: asked.taskId });
    assert.equal(review.taskId, asked.taskId);
    assert.equal(review.state, 'COMPLETED');
    const { base, findings } = review.data.review;
    for (const { severity, file, line, text } of findings) tell(`    ${severity} ${file}:${line} ${text}`);
    assert.equal(base, 'main');
    assert.deepEqual(
      findings.map((/** @type {any} */ { rule, line }) => `${line} ${rule}`),
      ['10 todo-without-issue', '11 debug-print', '12 wide-catch'],
    );
  }

  async #tryProduction() {
    const refused = await this.#request('deployer', { text: 'Deploy shop 1.4.2 to production' });
    assert.equal(refused.state, 'REJECTED');
  }

  /** The stream stays open while the task waits for the operator, and brings the end. */
  async #deployToStaging() {
    const deployed = await this.#converse('deployer', { text: 'Deploy shop 1.4.2 to staging' }, (heard) =>
      heard.state === 'AUTH_REQUIRED' ? this.#approve(heard.taskId) : undefined,
    );
    assert.equal(deployed.state, 'COMPLETED');
    assert.equal(deployed.data.deployment.approvedBy, 'Ann');
    const lines = (await readFile(`${this.service.folder}/deployments.log`, 'utf8')).trim().split('\n');
    const record = lines.map((line) => JSON.parse(line)).filter(({ taskId }) => taskId === deployed.taskId);
    assert.deepEqual(record, [deployed.data.deployment]);
  }

  /** @param {string} taskId */
  async #approve(taskId) {
    tell('    (Ann, an operator, approves)');
    const response = await fetch(`${this.service.url}/operator/approvals/${taskId}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.service.operatorToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ approved: true, by: 'Ann' }),
    });
    assert.equal(response.status, 200, await response.text());
  }

  /** Sends and waits for the answer. @param {string} agent @param {Words} words */
  async #request(agent, words) {
    const heard = new Heard();
    heard.take(await this.client.send(agent, messageOf(agent, words)));
    return heard;
  }

  /**
   * Sends and listens to what the agent does.
   * @param {string} agent @param {Words} words
   * @param {(heard: Heard) => Promise<void> | undefined} react called after each event
   */
  async #converse(agent, words, react = () => undefined) {
    const heard = new Heard();
    for await (const event of this.client.stream(agent, messageOf(agent, words))) {
      const state = heard.state;
      heard.take(event);
      if (heard.state !== state) await react(heard);
    }
    return heard;
  }
}

/** @typedef {{ text: string, parts?: object[], taskId?: string }} Words */

/** @param {string} agent @param {Words} words */
function messageOf(agent, { text, parts = [], taskId }) {
  tell(`\n  planner to ${agent}: ${text}`);
  return { messageId: randomUUID(), role: 'ROLE_USER', taskId, parts: [{ text }, ...parts] };
}

/** What a client knows of a task from the events it has heard; tells them as they come. */
class Heard {
  taskId = '';
  state = '';
  /** @type {Record<string, any>} Data parts by artifact. */
  data = {};
  /** @type {Record<string, string>} Text parts by artifact. */
  text = {};

  /** @param {any} event a StreamResponse or SendMessageResponse as ProtoJSON */
  take({ task, statusUpdate, artifactUpdate }) {
    this.taskId = task?.id ?? statusUpdate?.taskId ?? this.taskId;
    for (const artifact of task?.artifacts ?? []) this.#takeArtifact(artifact);
    if (artifactUpdate) this.#takeArtifact(artifactUpdate.artifact);
    const status = task?.status ?? statusUpdate?.status;
    if (!status) return;
    this.state = status.state.replace('TASK_STATE_', '');
    const said = textOf(status.message);
    if (said || !['SUBMITTED', 'WORKING'].includes(this.state)) tell(`    ${this.state} ${said}`);
  }

  /** @param {any} artifact */
  #takeArtifact(artifact) {
    const text = textOf(artifact);
    for (const line of text.split('\n')) if (line) tell(`    | ${line}`);
    this.text[artifact.artifactId] = (this.text[artifact.artifactId] ?? '') + text;
    for (const { data } of artifact.parts) if (data !== undefined) this.data[artifact.artifactId] = data;
  }
}

/** @param {{ parts?: { text?: string }[] } | undefined} said */
function textOf(said) {
  return (said?.parts ?? []).map(({ text }) => text ?? '').join('');
}

/** @param {string} line */
function tell(line) {
  process.stdout.write(`${line}\n`);
}
