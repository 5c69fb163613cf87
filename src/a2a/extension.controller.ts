import { Controller, Get, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { EXTENSIONS, type Extension } from '../agents/index.js';
import { A2AError } from '../protocol/index.js';
import { changeFeed } from './change.feed.js';
import { html, htmlPage, markdown, PAGE_HEADERS } from './html.page.js';

type Described = Pick<Extension, 'uri' | 'description' | 'page'> &
  Partial<Pick<Extension, 'data' | 'example'>>;

const PAGES: ReadonlyMap<string, Described> = new Map<string, Described>([
  ...EXTENSIONS.map((extension): [string, Described] => [extension.name, extension]),
  [changeFeed.name, changeFeed],
]);

/** The pages about the service's own extensions, each at the path of its URI, for people and as JSON Schema. */
@Controller('extensions/:name/:version')
export class ExtensionController {
  @Get()
  page(@Param() { name, version }: Place, @Res() reply: FastifyReply): void {
    const extension = described(`${name}/${version}`);
    reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(pageOf(extension));
  }

  @Get('schema.json')
  schema(@Param() { name, version }: Place, @Res() reply: FastifyReply): void {
    const { data, uri } = described(`${name}/${version}`);
    if (!data) throw new A2AError('notFound');
    reply.headers(PAGE_HEADERS).type('application/schema+json').send(schemaText(data, uri));
  }
}

interface Place {
  readonly name: string;
  readonly version: string;
}

function described(name: string): Described {
  const extension = PAGES.get(name);
  if (!extension) throw new A2AError('notFound');
  return extension;
}

function pageOf({ uri, description, page, data, example }: Described): string {
  const name = new URL(uri).pathname.replace('/extensions/', '');
  const activation = data
    ? markdown(`
A client that wants the data lists the URI in \`A2A-Extensions\` (on gRPC in the metadata \`a2a-extensions\`, in 0.3 in
\`X-A2A-Extensions\`) of each call; without it the data is left out of what that call is answered, and of what a push
configuration that it makes is sent. The agents that speak the extension declare it on their cards. The data stands in
metadata under the URI as its key.`)
    : '';
  const parts = data
    ? `<h2>Data</h2><pre>${html(schemaText(data, uri))}</pre>
<h2>Example</h2><pre>${html(JSON.stringify({ [uri]: example }, undefined, 2))}</pre>`
    : '';
  return htmlPage(
    name,
    `<h1>${html(name)}</h1><p>${html(description)}.</p><p>An A2A extension: <code>${html(uri)}</code></p>
${markdown(page)}
${activation}
${parts}`,
  );
}

function schemaText(data: z.ZodType, uri: string): string {
  const schema = z.toJSONSchema(data, { io: 'input', target: 'draft-2020-12' });
  return JSON.stringify({ $id: uri, ...schema }, undefined, 2);
}
