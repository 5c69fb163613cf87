import { describe, expect, it } from 'vitest';
import { loadConfig } from './config.loader.js';

const ISSUER = 'https://login.example.com';
const problem = (env: Record<string, string>) => {
  try {
    loadConfig(env);
  } catch (error) {
    return (error as Error).message;
  }
  return 'none';
};

describe('The settings of identity', () => {
  it('want an audience for issuers, and issuers for an audience', () => {
    expect(problem({ PARLEY_OIDC_ISSUERS: ISSUER })).toContain('PARLEY_OIDC_AUDIENCE: not set');
    expect(problem({ PARLEY_OIDC_AUDIENCE: 'parley' })).toContain('PARLEY_OIDC_ISSUERS: not set');
    expect(problem({ PARLEY_OIDC_ISSUERS: ISSUER, PARLEY_OIDC_AUDIENCE: 'parley' })).toBe('none');
  });

  it('open an address that is not loopback, which is closed without any', () => {
    const host = { PARLEY_HOST: '0.0.0.0' };

    expect(problem(host)).toContain('no authentication is configured');
    expect(problem({ ...host, PARLEY_API_KEYS: 'true' })).toBe('none');
    expect(problem({ ...host, PARLEY_OIDC_ISSUERS: ISSUER, PARLEY_OIDC_AUDIENCE: 'parley' })).toBe('none');
    expect(problem({ ...host, PARLEY_INSECURE_OPEN: 'true' })).toBe('none');
  });

  it.each(['none', 'HS256', 'EdDSA', 'RS256,HS512'])('know no signature algorithm %s', (algorithms) => {
    expect(problem({ PARLEY_OIDC_ALGORITHMS: algorithms })).toContain('PARLEY_OIDC_ALGORITHMS');
  });

  it('give scopes other names, and keep those that are not named', () => {
    const { scopeNames } = loadConfig({
      PARLEY_SCOPE_NAMES: 'a2a.send=api://parley?x=1, a2a.read=agent:read',
    });

    expect(scopeNames).toMatchObject({
      'a2a.send': 'api://parley?x=1',
      'a2a.read': 'agent:read',
      'a2a.cancel': 'a2a.cancel',
    });
    expect(loadConfig({}).scopeNames['a2a.send']).toBe('a2a.send');
  });

  it('say which agents are guarded how, and refuse what would guard nothing', () => {
    const known = { PARLEY_API_KEYS: 'true' };
    const { agentOrganisations, agentScopes } = loadConfig({
      ...known,
      PARLEY_AGENT_ORGANISATIONS: 'deployer=acme umbrella, echo=acme',
      PARLEY_AGENT_SCOPES: 'deployer=deploy.staging',
    });

    expect(agentOrganisations).toEqual({ deployer: ['acme', 'umbrella'], echo: ['acme'] });
    expect(agentScopes).toEqual({ deployer: ['deploy.staging'] });
    expect(problem({ ...known, PARLEY_PRIVATE_AGENTS: 'depolyer' })).toContain('"depolyer" is not served');
    expect(problem({ PARLEY_PRIVATE_AGENTS: 'deployer' })).toContain('no caller can be told from another');
    for (const pairs of ['deployer', 'deployer=', '=acme']) {
      expect(problem({ ...known, PARLEY_AGENT_ORGANISATIONS: pairs })).toContain(
        'PARLEY_AGENT_ORGANISATIONS',
      );
    }
  });

  it('want certificate and key together, and both for client certificates', () => {
    expect(problem({ PARLEY_TLS_CERT: 'a.pem' })).toContain('PARLEY_TLS_KEY: not set');
    expect(problem({ PARLEY_TLS_KEY: 'a.key' })).toContain('PARLEY_TLS_CERT: not set');
    expect(problem({ PARLEY_TLS_CLIENT_CA: 'ca.pem' })).toContain('without TLS no client can show');
  });

  it.each(['a2a.sned=x', 'a2a.send', 'a2a.send='])('refuse the scope names "%s"', (names) => {
    expect(problem({ PARLEY_SCOPE_NAMES: names })).toContain('give pairs such as a2a.send=other');
  });
});
