import {
  Body,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  Param,
  Post,
  Query,
  UseGuards,
} from '@nestjs/common';
import { type ApiKey, ApiKeys, NewApiKey } from '../auth/index.js';
import { readBody } from './operator.body.js';
import { OperatorGuard } from './operator.guard.js';

/** API keys: `POST` makes one and shows it this once, `GET` lists them, `DELETE` revokes one. */
@Controller('operator/keys')
@UseGuards(OperatorGuard)
export class KeyController {
  constructor(private readonly keys: ApiKeys) {}

  @Post()
  @Header('Cache-Control', 'no-store')
  async make(@Body() body: unknown): Promise<ApiKey & { readonly key: string }> {
    const { key, text } = await this.keys.make(readBody(NewApiKey, body));
    return { key: text, ...key };
  }

  @Get()
  @Header('Cache-Control', 'no-store')
  async list(@Query('organisation') organisation?: string): Promise<{ readonly keys: readonly ApiKey[] }> {
    return { keys: await this.keys.list({ organisation }) };
  }

  @Delete(':id')
  @HttpCode(204)
  async revoke(@Param('id') id: string): Promise<void> {
    await this.keys.revoke(id);
  }
}
