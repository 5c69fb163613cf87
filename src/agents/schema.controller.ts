import { Controller, Get, Header } from '@nestjs/common';
import { settingsJsonSchema } from '../config/index.js';
import { agentJsonSchema } from './agent.schema.js';

/** `GET /schemas/agent.json` and `/schemas/settings.json`: the JSON Schemas of what operators write, for their editors. */
@Controller('schemas')
export class SchemaController {
  @Get('agent.json')
  @Header('Content-Type', 'application/schema+json')
  @Header('Cache-Control', 'public, max-age=300')
  @Header('Access-Control-Allow-Origin', '*')
  agent(): string {
    return JSON.stringify(agentJsonSchema());
  }

  @Get('settings.json')
  @Header('Content-Type', 'application/schema+json')
  @Header('Cache-Control', 'public, max-age=300')
  @Header('Access-Control-Allow-Origin', '*')
  settings(): string {
    return JSON.stringify(settingsJsonSchema(agentJsonSchema()));
  }
}
