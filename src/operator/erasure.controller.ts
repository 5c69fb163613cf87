import { Body, Controller, Get, Header, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { AuditLog, operatorNamed } from '../auth/index.js';
import { type ErasureReceipt, ErasureStore } from '../tasks/index.js';
import { readBody, text } from './operator.body.js';
import { OperatorGuard, type OperatorRequest } from './operator.guard.js';

const ErasureRequest = z.strictObject({
  organisation: text(200).default(''),
  subject: text(1000).refine((value) => value !== '', 'must not be empty'),
});

/** `POST /operator/erasures` takes all data of a caller away and gives the receipt; `GET` lists the receipts. */
@Controller('operator/erasures')
@UseGuards(OperatorGuard)
export class ErasureController {
  constructor(
    private readonly store: ErasureStore,
    private readonly audit: AuditLog,
  ) {}

  @Post()
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  async erase(
    @Body() body: unknown,
    @Req() { operator = 'operator' }: OperatorRequest,
  ): Promise<ErasureReceipt> {
    const receipt = await this.store.erase(readBody(ErasureRequest, body), operator);
    this.audit.record({ act: 'erase', principal: operatorNamed(operator), receiptId: receipt.id });
    return receipt;
  }

  @Get()
  @Header('Cache-Control', 'no-store')
  async list(): Promise<{ readonly erasures: readonly ErasureReceipt[] }> {
    return { erasures: await this.store.receipts() };
  }
}
