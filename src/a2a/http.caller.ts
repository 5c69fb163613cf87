import type { PeerCertificate } from 'node:tls';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { verifiedCertificate } from '../auth/index.js';
import { Caller } from './caller.js';

/** The other end of an HTTP call. That it has left is known from the response: the request closes once it is read. */
export class HttpCaller extends Caller {
  constructor(
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
  ) {
    super();
  }

  header(name: string): string | undefined {
    const value = this.request.raw.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  override get address(): string {
    return this.request.ip;
  }

  override get certificate(): PeerCertificate | undefined {
    return verifiedCertificate(this.request);
  }

  override query(name: string): string | undefined {
    const value = (this.request.query as Record<string, string | string[] | undefined>)[name];
    return Array.isArray(value) ? value[0] : value;
  }

  get gone(): boolean {
    const { destroyed, writableFinished } = this.reply.raw;
    return destroyed && !writableFinished;
  }

  protected onGone(look: () => void): void {
    this.reply.raw.on('close', look);
  }

  /** Gives the whole answer at once. */
  answer({ status, type, headers, body }: HttpAnswer): void {
    this.reply.code(status).type(type);
    for (const [name, value] of headers) this.reply.header(name, value);
    this.reply.send(body);
  }
}

export interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly headers: Iterable<[name: string, value: string]>;
  readonly body: string;
}
