import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';

export const AUDIENCE = 'https://parley.example';
const CLIENT = { client_id: 'planner', client_secret: 'planner-secret' };

export type SigningAlgorithm = 'ES256' | 'RS256';

/** A token as this issuer would sign it, with whatever is wrong that the test wants. */
export interface Forgery {
  readonly claims?: JWTPayload;
  readonly header?: { kid?: string };
  /** Signs with another key than the published one, under its `kid`. */
  readonly foreignKey?: boolean;
}

/** A real OpenID Connect provider on a free port of this machine, whose keys can be changed while it runs. */
export class OidcIssuer {
  #listener: RequestListener = (_request, response) => response.writeHead(503).end();
  #key: JWK = {};
  #port = 0;
  readonly #server: Server = createServer((request, response) => {
    if (request.url?.includes('jwks')) this.keyReads++;
    this.#listener(request, response);
  });
  /** How often somebody has read the keys. */
  keyReads = 0;

  private constructor(private readonly alg: SigningAlgorithm) {}

  static async start(alg: SigningAlgorithm = 'ES256'): Promise<OidcIssuer> {
    const issuer = new OidcIssuer(alg);
    await issuer.#listen(0);
    await issuer.rotate();
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Publishes a new key in place of the old one. */
  async rotate(): Promise<void> {
    this.#key = await newKey(this.alg);
    this.#listener = new Provider(this.url, configuration(this.#key, this.alg)).callback();
  }

  /** A token from the token endpoint, by the client credentials grant. */
  async token(scope = 'a2a.send a2a.read a2a.cancel'): Promise<string> {
    const response = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${CLIENT.client_id}:${CLIENT.client_secret}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
    });
    const body = (await response.json()) as { access_token?: string };
    if (body.access_token === undefined) throw new Error(`No token: ${JSON.stringify(body)}`);
    return body.access_token;
  }

  async forge({ claims, header, foreignKey }: Forgery = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const good = { iss: this.url, aud: AUDIENCE, sub: 'ann', scope: 'a2a.read', iat: now, exp: now + 300 };
    const key = foreignKey ? await newKey(this.alg) : this.#key;
    return new SignJWT({ ...good, ...claims })
      .setProtectedHeader({ alg: this.alg, kid: this.#key.kid, ...header })
      .sign(await importJWK(key, this.alg));
  }

  /** An outage: nothing answers at the address. `recover` ends it. */
  async fail(): Promise<void> {
    await this.stop();
  }

  recover(): Promise<void> {
    return this.#listen(this.#port);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  async #listen(port: number): Promise<void> {
    await new Promise<void>((listening) => this.#server.listen(port, '127.0.0.1', listening));
    this.#port = (this.#server.address() as AddressInfo).port;
  }
}

async function newKey(alg: SigningAlgorithm): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid: crypto.randomUUID() };
}

function configuration(key: JWK, alg: SigningAlgorithm): Configuration {
  const resource = {
    scope: 'a2a.send a2a.read a2a.cancel a2a.push a2a.card',
    audience: AUDIENCE,
    accessTokenFormat: 'jwt' as const,
    jwt: { sign: { alg } },
  };
  return {
    jwks: { keys: [key] } as Configuration['jwks'],
    clients: [
      {
        ...CLIENT,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: alg,
      },
    ],
    scopes: resource.scope.split(' '),
    extraTokenClaims: () => ({ org: 'acme' }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: () => resource,
      },
    },
  };
}
