// An agent as a module of the service: `execute` is given a turn and yields events, here whole artifacts.
export default {
  async *execute(turn) {
    const text = turn.message.parts
      .map(({ content }) => (content.case === 'text' ? content.value : ''))
      .join(' ');
    const parts = [{ content: { case: 'text', value: text.toUpperCase() } }];
    yield { case: 'artifactUpdate', value: { artifact: { artifactId: 'answer', parts } } };
  },
};
