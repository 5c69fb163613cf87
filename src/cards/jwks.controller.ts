import { Controller, Get, Header } from '@nestjs/common';
import { A2AError } from '../protocol/index.js';
import { CardKeys } from './card.keys.js';

export const JWKS_PATH = '/.well-known/jwks.json';

/** The public keys that the cards' signatures verify with (RFC 7517). */
@Controller()
export class JwksController {
  constructor(private readonly keys: CardKeys) {}

  @Get(JWKS_PATH)
  @Header('Content-Type', 'application/jwk-set+json')
  @Header('Cache-Control', 'public, max-age=300')
  @Header('Access-Control-Allow-Origin', '*')
  publish(): string {
    if (this.keys.all.length === 0) throw new A2AError('notFound');
    return JSON.stringify({ keys: this.keys.all.map(({ jwk }) => jwk) });
  }
}
