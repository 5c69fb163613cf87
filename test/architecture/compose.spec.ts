import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig, unknownVariables } from '../../src/config/index.js';

const DOCKER = new URL('../../docker/', import.meta.url).pathname;

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, object>>;
  readonly profiles?: readonly string[];
  readonly stop_grace_period?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
}

const { services, volumes } = parse(readFileSync(`${DOCKER}compose.yaml`, 'utf8'), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, null>;
};
const dockerfile = readFileSync(`${DOCKER}Dockerfile`, 'utf8');
const replicas = [services['parley-1']!, services['parley-2']!];
/** What compose puts in place of a variable that is not set. */
const filled = (value: string) => value.replace(/\$\{\w+:-(.*?)\}/g, '$1');

describe('docker/compose.yaml', () => {
  it('has two replicas alike, with settings that exist and that the service starts with', () => {
    expect(replicas[0]).toEqual(replicas[1]);
    const image = Object.fromEntries(
      [...dockerfile.matchAll(/(PARLEY_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
    );
    const given = Object.entries(replicas[0]!.environment!).map(([name, value]) => [name, filled(value)]);
    const env = { ...image, ...Object.fromEntries(given) };
    expect(unknownVariables(env)).toEqual([]);
    const { drainMs, httpPort, grpcPort } = loadConfig(env);
    expect(Number.parseInt(replicas[0]!.stop_grace_period!, 10)).toBeGreaterThan(drainMs / 1000 + 10);
    const { PARLEY_HTTP_SERVERS, PARLEY_GRPC_SERVERS } = services.nginx!.environment!;
    expect(PARLEY_HTTP_SERVERS).toBe(
      `server parley-1:${httpPort} max_fails=0; server parley-2:${httpPort} max_fails=0;`,
    );
    expect(PARLEY_GRPC_SERVERS).toBe(
      `server parley-1:${grpcPort} max_fails=0; server parley-2:${grpcPort} max_fails=0;`,
    );
    expect(dockerfile).toContain(`EXPOSE ${httpPort} ${grpcPort}`);
  });

  it('fills in each variable of the template of nginx, and publishes its ports', () => {
    const template = readFileSync(`${DOCKER}nginx.conf.template`, 'utf8');
    const wanted = new Set([...template.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name));
    const { environment, ports } = services.nginx!;
    expect(Object.keys(environment!).sort()).toEqual([...wanted].sort());
    const published = [environment!.NGINX_HTTP_PORT, environment!.NGINX_GRPC_PORT].map(
      (port) => `${port}:${port}`,
    );
    expect(ports).toEqual(published);
  });

  it('mounts files and waits for services that exist', () => {
    for (const [name, service] of Object.entries(services)) {
      for (const mount of service.volumes ?? []) {
        const [source = ''] = mount.split(':');
        const isThere = source.startsWith('.') ? existsSync(join(DOCKER, source)) : source in volumes;
        expect([name, mount, isThere]).toEqual([name, mount, true]);
      }
      const others = Array.isArray(service.depends_on)
        ? service.depends_on
        : Object.keys(service.depends_on ?? {});
      for (const other of others) expect(Object.keys(services)).toContain(other);
      expect(service.image).toMatch(/:[\w.]+$/);
    }
    expect(services.nats!.profiles).toEqual(['nats']);
  });

  it('sends traces to a collector that sends them to Jaeger', () => {
    const { receivers, exporters } = parse(readFileSync(`${DOCKER}collector.yaml`, 'utf8'));
    const { port, hostname } = new URL(replicas[0]!.environment!.OTEL_EXPORTER_OTLP_ENDPOINT!);
    expect(services).toHaveProperty(hostname);
    expect(receivers.otlp.protocols.http.endpoint).toBe(`0.0.0.0:${port}`);
    expect(services).toHaveProperty(exporters['otlp/jaeger'].endpoint.split(':')[0]);
  });
});

describe('docker/Dockerfile', () => {
  const stages = dockerfile.split(/^FROM /m).slice(1);

  it('builds from sources that the context lets in', () => {
    const allowed = readFileSync(`${DOCKER}Dockerfile.dockerignore`, 'utf8')
      .match(/^!(.*)$/gm)!
      .map((line) => line.slice(1));
    const build = readFileSync(`${DOCKER}build.sh`, 'utf8');
    for (const path of [
      'package.json',
      'package-lock.json',
      'tsconfig.json',
      'tsconfig.build.json',
      'LICENSE',
      'proto',
      'src',
    ]) {
      expect(allowed).toContain(path);
    }
    expect(allowed).toContain('docker/build.sh');
    expect(build).toContain('--omit=dev --omit=optional');
    expect(stages[0]).toMatch(/RUN --mount=type=cache,target=\/root\/\.npm docker\/build\.sh \/parley/);
  });

  it('ends in an image without a shell whose user is not root', () => {
    expect(stages).toHaveLength(2);
    expect(stages[1]).toMatch(/^gcr\.io\/distroless\/nodejs\d+-debian\d+:nonroot\n/);
    expect(stages[1]).toContain('\nUSER 65532:65532\n');
  });
});
