import { Injectable } from '@nestjs/common';
import type { Principal } from '../protocol/index.js';
import { Authenticator } from './authenticator.js';
import { A2A_SCOPES } from './scope.js';

/** Open mode: everyone is the same caller, who may do everything. Served on loopback only, unless told otherwise. */
@Injectable()
export class AnonymousAuthenticator extends Authenticator {
  async authenticate(): Promise<Principal> {
    return ANONYMOUS;
  }
}

export const ANONYMOUS: Principal = { organisation: '', subject: 'anonymous', scopes: A2A_SCOPES };
