// An agent that says for whom it works: before and after it has waited, and in work that outlasts the call.
export default {
  async *execute(turn) {
    const who = () => `${turn.principal.organisation}/${turn.principal.subject}`;
    const part = (text) => ({ content: { case: 'text', value: text } });
    const before = who();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const after = who();
    await Promise.resolve();
    const parts = [before, after, await later(who)].map(part);
    yield { case: 'artifactUpdate', value: { artifact: { artifactId: 'who', parts } } };
  },
};

const later = (work) => new Promise((resolve) => setImmediate(() => resolve(work())));
