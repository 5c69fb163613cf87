/**
 * What the proto file says about its rpcs, messages and enums, by their names. Generated code does not carry
 * it. A comment is the `//` lines right above.
 */
export function protoComments(source: string): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  for (const [, lines = '', name = ''] of source.matchAll(COMMENTED)) {
    comments.set(
      name,
      lines
        .replace(/^[ \t]*\/\/ ?/gm, '')
        .trim()
        .replace(/\s+/g, ' '),
    );
  }
  return comments;
}

const COMMENTED = /((?:^[ \t]*\/\/.*\n)+)[ \t]*(?:rpc|message|enum|service) (\w+)/gm;
