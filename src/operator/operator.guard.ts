import { createHash, timingSafeEqual } from 'node:crypto';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AuditLog, Authenticator, challenge, httpCredentials } from '../auth/index.js';
import { Config, requiresCredentials } from '../config/index.js';
import { A2AError } from '../protocol/index.js';

const BEARER = /^bearer +(\S+)$/i;
const SCOPE = 'parley.operate';

/** A request that has passed the guard. */
export interface OperatorRequest extends FastifyRequest {
  /** Who it is; undefined with the shared token. */
  operator?: string;
}

/**
 * Lets in who holds the operators' token, and callers whose credential has the scope `parley.operate`. Where
 * neither can be, the operators' API does not exist.
 */
@Injectable()
export class OperatorGuard implements CanActivate {
  constructor(
    private readonly config: Config,
    private readonly authenticator: Authenticator,
    private readonly audit: AuditLog,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<OperatorRequest>();
    const { operatorToken } = this.config;
    const given = BEARER.exec(request.headers.authorization ?? '')?.[1];
    if (operatorToken !== undefined && given !== undefined && isSame(given, operatorToken)) return true;
    if (!requiresCredentials(this.config)) throw this.#refusal();
    const principal = await this.authenticator.authenticate(httpCredentials(request));
    if (!principal.scopes.has(SCOPE)) {
      this.audit.record({ act: 'denied', principal, reason: 'permissionDenied', scope: SCOPE });
      throw this.#lacking();
    }
    request.operator = principal.subject;
    return true;
  }

  #refusal(): A2AError {
    if (this.config.operatorToken === undefined) return new A2AError('notFound');
    return new A2AError('unauthenticated', { challenge: 'Bearer realm="parley-operator"' });
  }

  #lacking(): A2AError {
    const scope = this.config.scopeNames[SCOPE];
    return new A2AError('permissionDenied', {
      message: `The credential lacks the scope ${scope}`,
      metadata: { scope },
      challenge: challenge(this.config, { error: 'insufficient_scope', scope }),
    });
  }
}

/** Compares digests, so that the time taken says nothing of the token, its length included. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

const digest = (text: string) => createHash('sha256').update(text).digest();
