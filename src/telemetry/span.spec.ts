import { describe, expect, it } from 'vitest';
import { recordSpans } from '../../test/support/recorded.spans.js';
import { inChildSpan, inSpan, isFollowed, traceHeaders, traceIdOf } from './span.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const FOLLOWED = `00-${TRACE}-b7ad6b7169203331-01`;
const UNFOLLOWED = `00-${TRACE}-b7ad6b7169203331-00`;

const exporter = recordSpans();

describe('a trace', () => {
  it.each([
    [FOLLOWED, true],
    [UNFOLLOWED, false],
    [`00-${TRACE}-b7ad6b7169203331-03`, true],
    ['nonsense', false],
    [undefined, false],
  ])('that is carried by %s is followed: %s', (traceparent, followed) => {
    expect(isFollowed(traceparent)).toBe(followed);
  });

  it('is carried to the work below a span, and from there to other systems', async () => {
    let seen: (string | undefined)[] = [];
    await inSpan('above', { parent: FOLLOWED }, (_span, above) =>
      inChildSpan('below', { parent: above, links: [UNFOLLOWED, 'nonsense'] }, async (below) => {
        seen = [above, below, traceHeaders(below).traceparent];
      }),
    );
    const [below, above] = exporter.getFinishedSpans();
    expect(seen.map(traceIdOf)).toEqual([TRACE, TRACE, TRACE]);
    expect(above?.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    expect(below?.parentSpanContext?.spanId).toBe(above?.spanContext().spanId);
    expect(below?.links.map(({ context }) => context.spanId)).toEqual(['b7ad6b7169203331']);
    expect(seen[1]).toBe(seen[2]);
    expect(seen[1]).toContain(below?.spanContext().spanId);
  });

  it('that nobody follows is passed on as it is, and has no spans', async () => {
    exporter.reset();
    const passed = await inSpan('above', { parent: UNFOLLOWED }, (_span, above) =>
      inChildSpan('below', { parent: above }, async (below) => traceHeaders(below)),
    );
    expect(passed.traceparent).toBe(UNFOLLOWED);
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  it('has what the work throws as an error of its span', async () => {
    const failing = inSpan('failing', {}, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(exporter.getFinishedSpans().at(-1)).toMatchObject({ name: 'failing', status: { code: 2 } });
  });
});
