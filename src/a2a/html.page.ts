const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1d2733 }
  h1, h2 { line-height: 1.2 } h2 { margin-top: 3rem; border-bottom: 1px solid #d5dde5; padding-bottom: .3rem }
  code, pre { font: .875em ui-monospace, monospace } a { color: #0b62a8 }
  details { border: 1px solid #d5dde5; border-radius: .4rem; margin: .5rem 0; padding: .5rem .8rem }
  summary { cursor: pointer } b { display: inline-block; min-width: 4.2rem }
  table { border-collapse: collapse; width: 100%; margin: .5rem 0 }
  td, th { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-top: 1px solid #e8edf2 }
  @media (prefers-color-scheme: dark) {
    body { background: #14191f; color: #d8dfe6 } a { color: #7cc0ff }
    details, td, th, h2 { border-color: #303a45 }
  }`;

/** A page to read: one file without a script, which fetches nothing. `body` is HTML. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(title)}</title><style>${STYLE}</style>
${body}
</html>
`;
}

/** Headers of such a page: anybody may keep it; nothing else of it may run or be fetched. */
export const PAGE_HEADERS = {
  'cache-control': 'public, max-age=300',
  'access-control-allow-origin': '*',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
};

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
export const html = (text: string) => text.replace(/[&<>"]/g, (found) => ENTITIES[found]!);
/** Text with `code` and line ends. */
export const prose = (text: string) =>
  html(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll('\n', '<br>');

/** Markdown as far as the pages use it: paragraphs, lists, tables, indented code, `code` and **strong**. */
export function markdown(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map(block)
    .join('\n');
}

function block(text: string): string {
  const lines = text.split('\n');
  if (lines.every((line) => line.startsWith('    '))) {
    return `<pre>${html(lines.map((line) => line.slice(4)).join('\n'))}</pre>`;
  }
  if (text.startsWith('- ')) {
    const items = text.slice(2).split('\n- ');
    return `<ul>${items.map((item) => `<li>${inline(item)}`).join('')}</ul>`;
  }
  if (text.startsWith('| ')) {
    const rows = lines.filter((line) => !/^\|[-| ]+\|$/.test(line));
    return `<table>${rows.map((row) => `<tr>${cells(row)}`).join('')}</table>`;
  }
  return `<p>${inline(text)}</p>`;
}

const cells = (row: string) =>
  row
    .slice(1, -1)
    .split('|')
    .map((cell) => `<td>${inline(cell.trim())}`)
    .join('');

const inline = (text: string) =>
  prose(text.replaceAll('\n', ' ')).replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>');
