import { node, tracing } from '@opentelemetry/sdk-node';
import { afterAll, beforeAll } from 'vitest';

const { SamplingDecision } = tracing;

/** The one tracer of the process: what was handed out stays bound to it, so that it is switched, never changed. */
const exporter = new tracing.InMemorySpanExporter();
let isOn = false;
let isRegistered = false;

const sampler: tracing.Sampler = {
  shouldSample: () => ({
    decision: isOn ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
  }),
  toString: () => 'Switched',
};

/** Records the spans that the tests of this file, or this group, make, and no others. */
export function recordSpans(): Pick<tracing.InMemorySpanExporter, 'getFinishedSpans' | 'reset'> {
  beforeAll(() => {
    if (!isRegistered) {
      const spanProcessors = [new tracing.SimpleSpanProcessor(exporter)];
      new node.NodeTracerProvider({ sampler, spanProcessors }).register({ contextManager: null });
      isRegistered = true;
    }
    exporter.reset();
    isOn = true;
  });
  afterAll(() => {
    isOn = false;
    exporter.reset();
  });
  return exporter;
}
