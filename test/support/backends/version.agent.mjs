// An agent of several versions: says which one answers. "ask" waits for an answer, "wait" for its end.
const text = ({ parts }) => parts[0].content.value;
const status = (state, said) => ({
  case: 'statusUpdate',
  value: { status: { state, message: said && { parts: [{ content: { case: 'text', value: said } }] } } },
});

export default ({ version }) => ({
  async *execute({ message, history, signal }) {
    const said = text(message);
    if (said === 'ask' && history.length === 1) {
      yield status(6, 'Which one?');
      return;
    }
    if (said === 'wait') {
      yield status(2, 'waiting');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return;
    }
    const parts = [{ content: { case: 'text', value: `${version}: ${said}` } }];
    yield { case: 'artifactUpdate', value: { artifact: { artifactId: 'a', parts } } };
    yield status(3);
  },
});
