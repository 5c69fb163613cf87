import { Logger } from '@nestjs/common';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordSpans } from '../../test/support/recorded.spans.js';
import { A2AError } from '../protocol/index.js';
import { Caller } from './caller.js';
import { type FaultPlace, Faults } from './faults.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

class TracedCaller extends Caller {
  constructor(readonly gone = false) {
    super();
  }
  header(name: string): string | undefined {
    return name === 'traceparent' ? `00-${TRACE}-${PARENT}-01` : undefined;
  }
  protected onGone(): void {}
}

const exporter = recordSpans();
beforeAll(() => Logger.overrideLogger(false));
beforeEach(() => exporter.reset());

const faults = new Faults();
const place: FaultPlace = { caller: new TracedCaller(), operation: 'sendMessage', binding: 'GRPC' };

describe('A call that is refused before it begins', () => {
  it('is a span of its operation in the trace of the caller, with the reason and no error', () => {
    faults.report(new A2AError('unauthenticated'), place);
    const [span, ...others] = exporter.getFinishedSpans();
    expect(others).toEqual([]);
    expect(span).toMatchObject({
      name: 'a2a/SendMessage',
      attributes: { 'a2a.binding': 'GRPC', 'a2a.error.reason': 'UNAUTHENTICATED' },
      status: { code: 0 },
      parentSpanContext: { traceId: TRACE, spanId: PARENT },
    });
  });

  it('has no name that a caller made up', () => {
    faults.report(new A2AError('methodNotFound'), { ...place, operation: undefined });
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['a2a/unknown']);
  });

  it('is an error where the service is to blame', () => {
    faults.report(new Error('broken'), place);
    expect(exporter.getFinishedSpans()[0]).toMatchObject({
      status: { code: 2 },
      attributes: { 'a2a.error.reason': 'INTERNAL' },
    });
  });

  it('leaves no span when its caller has left, or where it is no call of A2A', () => {
    faults.report(new A2AError('unauthenticated'), { ...place, caller: new TracedCaller(true) });
    faults.report(new A2AError('notFound'), { caller: new TracedCaller() });
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});
