import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const AUDIENCE = 'https://parley.bench';
const SCOPE = 'a2a.send a2a.read';

/**
 * An issuer of tokens on a free port, and what the service has to be told of it.
 * @returns {Promise<{settings: Record<string, string>, token: (alg: 'RS256' | 'ES256') => Promise<string>,
 *   stop: () => void}>}
 */
export async function startIssuer() {
  const algorithms = ['RS256', 'ES256'];
  const keys = await Promise.all(algorithms.map((alg) => generateKeyPair(alg)));
  const jwks = await Promise.all(
    keys.map(async ({ publicKey }, i) => ({
      ...(await exportJWK(publicKey)),
      kid: algorithms[i],
      alg: algorithms[i],
      use: 'sig',
    })),
  );
  const server = createServer((request, response) => {
    const isKeys = request.url === '/jwks';
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isKeys ? { keys: jwks } : { issuer: url, jwks_uri: `${url}/jwks` }));
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    settings: { PARLEY_OIDC_ISSUERS: url, PARLEY_OIDC_AUDIENCE: AUDIENCE },
    token: (alg) =>
      new SignJWT({ scope: SCOPE })
        .setProtectedHeader({ alg, kid: alg })
        .setIssuer(url)
        .setAudience(AUDIENCE)
        .setSubject('bench')
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(keys[algorithms.indexOf(alg)].privateKey),
    stop: () => server.close().closeAllConnections(),
  };
}
