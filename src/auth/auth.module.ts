import { Module } from '@nestjs/common';
import { Config, requiresCredentials } from '../config/index.js';
import { AnonymousAuthenticator } from './anonymous.authenticator.js';
import { ApiKeyStore } from './api-key.store.js';
import { ApiKeyStrategy } from './api-key.strategy.js';
import { ApiKeys } from './api-keys.js';
import { AuditLog } from './audit.log.js';
import { Authenticator } from './authenticator.js';
import { FailedLogins } from './failed.logins.js';
import { Issuers } from './issuers.js';
import { JwtStrategy } from './jwt.strategy.js';
import { PassportAuthenticator } from './passport.authenticator.js';
import { Policy } from './policy.js';
import { PostgresApiKeyStore } from './postgres-api-key.store.js';
import { PostgresAuditLog } from './postgres-audit.log.js';
import { ResourceController } from './resource.controller.js';
import { ScopePolicy } from './scope.policy.js';

/** Open without any configuration of identity; with one, every call needs a credential. */
@Module({
  controllers: [ResourceController],
  providers: [
    Issuers,
    JwtStrategy,
    ApiKeyStrategy,
    ApiKeys,
    FailedLogins,
    PassportAuthenticator,
    { provide: ApiKeyStore, useClass: PostgresApiKeyStore },
    {
      provide: Authenticator,
      inject: [Config, PassportAuthenticator],
      useFactory: (config: Config, passport: PassportAuthenticator) =>
        requiresCredentials(config) ? passport : new AnonymousAuthenticator(),
    },
    { provide: AuditLog, useClass: PostgresAuditLog },
    { provide: Policy, useClass: ScopePolicy },
  ],
  exports: [Authenticator, Policy, ApiKeys, AuditLog],
})
export class AuthModule {}
