import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { html, htmlPage, prose } from './html.page.js';

type Named = Readonly<Record<string, JsonObject>>;

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
  return htmlPage(
    `${info.title ?? ''}: HTTP+JSON`,
    `<h1>${html(info.title ?? '')} ${html(info.version ?? '')}</h1>
<p>${html(info.summary ?? '')}. ${html(info.description ?? '')}</p>
<p>The same as a document for tools: <a href="openapi.json">openapi.json</a>.</p>
<table>${servers.map(({ url, description }) => `<tr><td><code>${html(url)}</code><td>${html(description)}`).join('')}</table>
${chapters.join('\n')}
<h2>Errors</h2><table>${errors.join('')}</table>
<h2>Types</h2>${schemas.join('\n')}`,
  );
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
