export declare class Death extends Error {}
export declare function play(
  request: unknown,
  signal: AbortSignal,
): AsyncGenerator<object | string, void, undefined>;
