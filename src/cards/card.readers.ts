import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type AgentDefinition, isPrivate } from '../agents/index.js';
import { Authenticator, httpCredentials, noSuchAgent, Policy, showsCredential } from '../auth/index.js';
import type { Principal } from '../protocol/index.js';

/** Who may see which card. */
@Injectable()
export class CardReaders {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly policy: Policy,
  ) {}

  /**
   * Lets everyone see a public card, and a private one those whom the agent is there for.
   * @throws A2AError `unauthenticated`; `notFound` as for an unknown agent
   */
  async check(request: FastifyRequest, agent: AgentDefinition): Promise<void> {
    if (!isPrivate(agent)) return;
    const principal = await this.authenticator.authenticate(httpCredentials(request));
    if (!this.policy.mayFind(principal, agent)) throw noSuchAgent(agent.id);
  }

  /** Who asks; undefined for somebody who shows nothing. @throws A2AError `unauthenticated` for a bad credential */
  async readerOf(request: FastifyRequest): Promise<Principal | undefined> {
    const credentials = httpCredentials(request);
    return showsCredential(credentials) ? this.authenticator.authenticate(credentials) : undefined;
  }

  /** Whether a catalog lists the agent: to strangers the public ones, to others those that they may use. */
  mayList(reader: Principal | undefined, agent: AgentDefinition): boolean {
    return reader === undefined ? !isPrivate(agent) : this.policy.mayUse(reader, agent);
  }
}
