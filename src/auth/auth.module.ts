import { Module } from '@nestjs/common';
import { Config, requiresCredentials } from '../config/index.js';
import { AnonymousAuthenticator } from './anonymous.authenticator.js';
import { ApiKeyStore } from './api-key.store.js';
import { ApiKeys } from './api-keys.js';
import { AuditLog } from './audit.log.js';
import { Authenticator } from './authenticator.js';
import { FailedLogins } from './failed.logins.js';
import { Policy } from './policy.js';
import { PostgresApiKeyStore } from './postgres-api-key.store.js';
import { PostgresAuditLog } from './postgres-audit.log.js';
import { ResourceController } from './resource.controller.js';
import { ScopePolicy } from './scope.policy.js';

/** Open without any configuration of identity; with one, every call needs a credential. */
@Module({
  controllers: [ResourceController],
  providers: [
    ApiKeys,
    FailedLogins,
    { provide: ApiKeyStore, useClass: PostgresApiKeyStore },
    {
      provide: Authenticator,
      inject: [Config, ApiKeyStore, FailedLogins],
      // What verifies credentials is loaded where callers need some.
      useFactory: async (config: Config, keys: ApiKeyStore, failures: FailedLogins) => {
        if (!requiresCredentials(config)) return new AnonymousAuthenticator();
        const { PassportAuthenticator } = await import('./passport.authenticator.js');
        return PassportAuthenticator.with(config, keys, failures);
      },
    },
    { provide: AuditLog, useClass: PostgresAuditLog },
    { provide: Policy, useClass: ScopePolicy },
  ],
  exports: [Authenticator, Policy, ApiKeys, AuditLog],
})
export class AuthModule {}
