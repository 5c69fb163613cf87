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
  Req,
  UseGuards,
} from '@nestjs/common';
import { z } from 'zod';
import { type ApiKey, ApiKeys, NewApiKey } from '../auth/index.js';
import { readBody, text } from './operator.body.js';
import { OperatorGuard, type OperatorRequest } from './operator.guard.js';

const KeyQuery = z.strictObject({ organisation: text(500).optional() });
const KeyPath = z.strictObject({ id: text(200) });

/** API keys: `POST` makes one and shows it this once, `GET` lists them, `DELETE` revokes one. */
@Controller('operator/keys')
@UseGuards(OperatorGuard)
export class KeyController {
  constructor(private readonly keys: ApiKeys) {}

  @Post()
  @Header('Cache-Control', 'no-store')
  async make(
    @Body() body: unknown,
    @Req() { operator }: OperatorRequest,
  ): Promise<ApiKey & { readonly key: string }> {
    const { key, text } = await this.keys.make(readBody(NewApiKey, body), operator);
    return { key: text, ...key };
  }

  @Get()
  @Header('Cache-Control', 'no-store')
  async list(@Query() query: unknown): Promise<{ readonly keys: readonly ApiKey[] }> {
    return { keys: await this.keys.list(readBody(KeyQuery, query)) };
  }

  @Delete(':id')
  @HttpCode(204)
  async revoke(@Param() path: unknown, @Req() { operator }: OperatorRequest): Promise<void> {
    const { id } = readBody(KeyPath, path);
    await this.keys.revoke(id, operator);
  }
}
