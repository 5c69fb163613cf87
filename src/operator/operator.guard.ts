import { createHash, timingSafeEqual } from 'node:crypto';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Config } from '../config/index.js';
import { A2AError } from '../protocol/index.js';

const BEARER = /^bearer +(\S+)$/i;

/** Lets in who holds the operator's token. Without a configured token the operators' API does not exist. */
@Injectable()
export class OperatorGuard implements CanActivate {
  constructor(private readonly config: Config) {}

  canActivate(context: ExecutionContext): boolean {
    const { operatorToken } = this.config;
    if (operatorToken === undefined) throw new A2AError('notFound');
    const { authorization } = context.switchToHttp().getRequest<FastifyRequest>().headers;
    const given = BEARER.exec(authorization ?? '')?.[1];
    if (given !== undefined && isSame(given, operatorToken)) return true;
    throw new A2AError('unauthenticated', { challenge: 'Bearer realm="parley-operator"' });
  }
}

/** Compares digests, so that the time taken says nothing of the token, its length included. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

const digest = (text: string) => createHash('sha256').update(text).digest();
