import { Module } from '@nestjs/common';
import { AnonymousAuthenticator } from './anonymous.authenticator.js';
import { Authenticator } from './authenticator.js';
import { Policy } from './policy.js';
import { ScopePolicy } from './scope.policy.js';

@Module({
  providers: [
    { provide: Authenticator, useClass: AnonymousAuthenticator },
    { provide: Policy, useClass: ScopePolicy },
  ],
  exports: [Authenticator, Policy],
})
export class AuthModule {}
