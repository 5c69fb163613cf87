/** A line that a diff adds, by its number in the new file. */
export interface AddedLine {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** The added lines of a unified diff. The counts of each hunk say where it ends, so content cannot pass for a header. */
export function* addedLines(diff: string): Iterable<AddedLine> {
  let [file, line, before, after] = ['', 0, 0, 0];
  for (const text of diff.split(/\r?\n/)) {
    if (before > 0 || after > 0) {
      if (text.startsWith('+')) yield { file, line, text: text.slice(1) };
      if (text.startsWith('\\')) continue;
      if (!text.startsWith('+')) before--;
      if (!text.startsWith('-')) {
        after--;
        line++;
      }
      continue;
    }
    file = /^\+\+\+ (?:b\/)?([^\t]+)/.exec(text)?.[1] ?? file;
    const hunk = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(text);
    if (hunk) [before, line, after] = [Number(hunk[1] ?? 1), Number(hunk[2]), Number(hunk[3] ?? 1)];
  }
}
