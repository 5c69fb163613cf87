import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

type Named = Readonly<Record<string, JsonObject>>;

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

/** The OpenAPI document as a page to read: one file without a script, which fetches nothing. */
export function openApiPage(document: JsonObject): string {
  const { info, servers, tags, paths, components } = document as {
    info: Record<string, string>;
    servers: { url: string; description: string }[];
    tags: { name: string; description: string }[];
    paths: Record<string, Named>;
    components: { schemas: Named; responses: Named; parameters: Named };
  };
  const operations = Object.entries(paths).flatMap(([path, { servers: _, ...item }]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );
  const chapters = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => (operation.tags as string[]).includes(name));
    const parts = own.map((one) => operationHtml(one, components.parameters));
    return `<h2>${html(name)}</h2><p>${html(description)}.</p>${parts.join('')}`;
  });
  const errors = Object.entries(components.responses).map(
    ([name, { description }]) =>
      `<tr id="${name}"><td>${name}</td><td>${prose(String(description))}</td></tr>`,
  );
  const schemas = Object.entries(components.schemas).map(([name, schema]) => schemaHtml(name, schema));
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(info.title ?? '')}: HTTP+JSON</title><style>${STYLE}</style>
<h1>${html(info.title ?? '')} ${html(info.version ?? '')}</h1>
<p>${html(info.summary ?? '')}. ${html(info.description ?? '')}</p>
<p>The same as a document for tools: <a href="openapi.json">openapi.json</a>.</p>
<table>${servers.map(({ url, description }) => `<tr><td><code>${html(url)}</code><td>${html(description)}`).join('')}</table>
${chapters.join('\n')}
<h2>Errors</h2><table>${errors.join('')}</table>
<h2>Types</h2>${schemas.join('\n')}
</html>
`;
}

interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operation: JsonObject;
}

function operationHtml({ path, method, operation }: Operation, shared: Named): string {
  const parameters = (operation.parameters as JsonObject[]).map((given) => {
    const { name, in: place, required, schema, description = '' } = shared[nameOf(given)] ?? given;
    const about = `${place}${required ? ', required' : ''}`;
    return `<tr><td><code>${html(String(name))}</code><td>${about}<td>${typeHtml(schema)} ${prose(String(description))}`;
  });
  const body = operation.requestBody as JsonObject | undefined;
  const responses = operation.responses as Named;
  const errors = Object.entries(responses).slice(1);
  return `<details id="${operation.operationId}"><summary><b>${method.toUpperCase()}</b> <code>${html(path)}</code> ${html(String(operation.summary))}</summary>
<p>${prose(String(operation.description))}</p>
<table>${parameters.join('')}${body ? `<tr><td>Body<td><td>${contentHtml(body)}` : ''}<tr><td>Answer<td>200<td>${contentHtml(responses['200']!)}</table>
<p>Errors: ${errors.map(([status, given]) => `<a href="#${nameOf(given)}">${status}</a>`).join(' ')}</p></details>`;
}

function contentHtml({ content }: JsonObject): string {
  return Object.entries(content as Named)
    .map(([type, { schema }]) => `<code>${html(type)}</code> ${typeHtml(schema)}`)
    .join('<br>');
}

function schemaHtml(name: string, schema: JsonObject): string {
  const required = (schema.required ?? []) as string[];
  const rows = Object.entries((schema.properties ?? {}) as Named).map(
    ([field, type]) =>
      `<tr><td><code>${html(field)}</code><td>${required.includes(field) ? 'required' : ''}<td>${typeHtml(type)}`,
  );
  const values = ((schema.enum ?? []) as string[]).map((value) => `<code>${html(value)}</code>`).join(', ');
  const choice = schema.oneOf ? `<p>Exactly one of ${choices(schema.oneOf)}.</p>` : '';
  return `<details id="${name}"><summary><code>${name}</code> ${prose(String(schema.description ?? ''))}</summary>${choice}${values}<table>${rows.join('')}</table></details>`;
}

const choices = (oneOf: JsonValue) =>
  (oneOf as { required: string[] }[])
    .map(({ required }) => `<code>${html(required.join())}</code>`)
    .join(', ');

function typeHtml(schema: JsonValue | undefined): string {
  const { $ref, type, items, format, additionalProperties, contentSchema } = (schema ?? {}) as JsonObject;
  if ($ref) return `<a href="#${nameOf({ $ref })}">${nameOf({ $ref })}</a>`;
  if (items) return `list of ${typeHtml(items)}`;
  if (contentSchema) return `frames of ${typeHtml(contentSchema)}`;
  if (additionalProperties && additionalProperties !== true)
    return `map of ${typeHtml(additionalProperties)}`;
  return html(String(format ?? type ?? 'any JSON'));
}

const nameOf = ({ $ref }: JsonObject) => String($ref ?? '').replace(/^.*\//, '');
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const html = (text: string) => text.replace(/[&<>"]/g, (found) => ENTITIES[found]!);
/** Text with `code` and line ends. */
const prose = (text: string) =>
  html(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll('\n', '<br>');
