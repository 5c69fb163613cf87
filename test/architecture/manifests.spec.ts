import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { loadConfig, unknownVariables } from '../../src/config/index.js';
import { SETTINGS } from '../../src/config/settings.js';
import { INSTRUMENTS } from '../../src/telemetry/instruments.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const source = (path: string) => readFileSync(ROOT + path, 'utf8');

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly image: string;
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string; readonly valueFrom?: { secretKeyRef: { key: string } } }[];
  readonly envFrom: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly volumeMounts?: readonly { readonly mountPath: string }[];
  readonly securityContext: object;
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
}

interface PodSpec {
  readonly containers: readonly [Container];
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: object;
}

interface Workload extends Manifest {
  readonly spec: {
    readonly selector: { readonly matchLabels: object };
    readonly strategy: object;
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: PodSpec };
  };
}

function kustomize(folder: string): Manifest[] {
  const rendered = execFileSync('kubectl', ['kustomize', `k8s/${folder}`], { cwd: ROOT, encoding: 'utf8' });
  return parseAllDocuments(rendered).map((document) => document.toJS() as Manifest);
}

function hasKustomize(): boolean {
  try {
    execFileSync('kubectl', ['kustomize', '--help'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Kinds that a cluster learns from others; their schemas are not in the package of Kubernetes' own. */
const FOREIGN = /^(gateway\.networking\.k8s\.io|monitoring\.coreos\.com)\//;
const CLOSING_SECONDS = 10;

const isThere = hasKustomize();
const why = isThere ? '' : ' (skipped: kubectl, which has kustomize, is not installed)';

describe.runIf(isThere).each(['base', 'overlays/dev', 'overlays/production'])(`k8s/%s${why}`, (folder) => {
  const manifests = isThere ? kustomize(folder) : [];
  const one = <T extends Manifest>(kind: string, name = 'parley') =>
    manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name) as T;
  const deployment = one<Workload>('Deployment');
  const job = one<Workload>('Job', 'parley-migrate');
  const config = manifests.find(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('parley-'),
  ) as Manifest & { data: Record<string, string> };
  const pod = deployment?.spec.template.spec;
  const [container] = pod?.containers ?? [];

  it('renders what the schemas of Kubernetes allow', async () => {
    expect(manifests.length).toBeGreaterThan(8);
    for (const manifest of manifests.filter(({ apiVersion }) => !FOREIGN.test(apiVersion))) {
      const { apiVersion, kind } = manifest;
      const path = `kubernetes-models/${apiVersion}/${kind}`;
      const module = await import(path);
      const model = new module[kind](manifest);
      expect(() => model.validate(), `${kind} ${manifest.metadata.name}`).not.toThrow();
    }
  });

  it('sets settings that exist, to values with which the service starts', () => {
    const env: Record<string, string> = { ...config.data };
    for (const { name } of container!.env)
      if (name === 'PARLEY_DATABASE_URL') env[name] = 'postgres://db/parley';
    const names = [...Object.keys(config.data), ...container!.env.map(({ name }) => name)];
    expect(names.filter((name) => name.startsWith('PARLEY_')).length).toBeGreaterThan(8);
    expect(unknownVariables(Object.fromEntries(names.map((name) => [name, ''])))).toEqual([]);
    expect(() => loadConfig(env)).not.toThrow();
  });

  it('gives secrets by reference alone', () => {
    const secrets = Object.entries(SETTINGS).filter(([, setting]) => 'secret' in setting && setting.secret);
    const variables = secrets.map(([name]) => `PARLEY_${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`);
    expect(variables).toContain('PARLEY_DATABASE_URL');
    expect(Object.keys(config.data).filter((name) => variables.includes(name))).toEqual([]);
    expect(container!.env.every(({ valueFrom }) => valueFrom?.secretKeyRef)).toBe(true);
  });

  it('opens the ports that the service listens on', () => {
    for (const { name, containerPort } of container!.ports!) {
      expect([name, config.data[`PARLEY_${name.toUpperCase()}_PORT`]]).toEqual([name, `${containerPort}`]);
    }
    expect(container!.ports!.map(({ name }) => name)).toEqual(['http', 'grpc', 'metrics']);
  });

  it('is asked for metrics where they are', () => {
    const service = one<Manifest & { spec: { ports: { name: string; targetPort: string }[] } }>('Service');
    expect(service.spec.ports).toContainEqual(
      expect.objectContaining({ name: 'metrics', targetPort: 'metrics' }),
    );
    const monitor = one<Manifest & { spec: { endpoints: { port: string }[] } }>('ServiceMonitor');
    expect(monitor?.spec.endpoints.map(({ port }) => port) ?? ['metrics']).toEqual(['metrics']);
  });

  it('is scaled by a metric that it has, where it is scaled', () => {
    const scaler = one<Manifest & { spec: { metrics: { pods?: { metric: { name: string } } }[] } }>(
      'HorizontalPodAutoscaler',
    );
    const names = scaler?.spec.metrics.flatMap(({ pods }) => pods?.metric.name ?? []) ?? [];
    expect(names).toHaveLength(folder === 'overlays/dev' ? 0 : 1);
    const known = Object.keys(INSTRUMENTS).map((name) => name.replaceAll('.', '_'));
    expect(known).toEqual(expect.arrayContaining(names));
  });

  it('asks paths of health that exist', () => {
    const controller = source('src/health/health.controller.ts');
    const served = [...controller.matchAll(/@Get\('(\w+)'\)/g)].map(([, path]) => `/health/${path}`);
    for (const { httpGet } of [
      container!.startupProbe,
      container!.livenessProbe,
      container!.readinessProbe,
    ]) {
      expect(served).toContain(httpGet.path);
      expect(httpGet.port).toBe('http');
    }
    expect(container!.readinessProbe.httpGet.path).toBe('/health/ready');
  });

  it('lets a replica drain before it is killed, and starts the next one first', () => {
    const { drainMs } = loadConfig({ PARLEY_DRAIN_MS: config.data.PARLEY_DRAIN_MS });
    const closing = /CLOSING_MS = ([\d_]+);/.exec(source('src/main.ts'))?.[1]?.replaceAll('_', '');
    expect(Number(closing)).toBe(CLOSING_SECONDS * 1000);
    const longest = container!.lifecycle.preStop.sleep.seconds + drainMs / 1000 + CLOSING_SECONDS;
    expect(pod!.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(longest + 5);
    expect(deployment.spec.strategy).toEqual({ rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
  });

  it('runs without root, rights or a file system to write to, but for the data folder', () => {
    for (const { spec } of [deployment.spec.template, job.spec.template]) {
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(spec.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
    expect(container!.volumeMounts!.map(({ mountPath }) => mountPath)).toContain(config.data.PARLEY_DATA_DIR);
  });

  it('migrates with the same image and settings by a command that exists', () => {
    const [migrate] = job.spec.template.spec.containers;
    expect(migrate.image).toBe(container!.image);
    expect(migrate.envFrom).toEqual(container!.envFrom);
    expect(migrate.args).toEqual(['dist/cli.js', 'migrate']);
    expect(source('src/cli.ts')).toContain('migrateCommand');
  });

  it('selects its own pods in services, budget, policy and spread', () => {
    const labels = { 'app.kubernetes.io/name': 'parley', 'app.kubernetes.io/component': 'service' };
    expect(deployment.spec.template.metadata.labels).toEqual(labels);
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect(one('Service')).toMatchObject({ spec: { selector: labels } });
    expect(one('Service', 'parley-grpc')).toMatchObject({ spec: { selector: labels } });
    expect(one('PodDisruptionBudget')).toMatchObject({ spec: { selector: { matchLabels: labels } } });
    expect(one('NetworkPolicy')).toMatchObject({
      spec: { podSelector: { matchLabels: { 'app.kubernetes.io/name': 'parley' } } },
    });
  });
});

describe.runIf(isThere)('k8s/overlays/production routes', () => {
  const routes = (isThere ? kustomize('overlays/production') : []) as (Manifest & {
    spec: {
      rules: {
        backendRefs: { name: string; port: number }[];
        timeouts?: { request: string; backendRequest: string };
      }[];
    };
  })[];

  it('lead to ports of services that exist, and put no limit on a stream', () => {
    const services = routes.filter(({ kind }) => kind === 'Service') as unknown as {
      metadata: { name: string };
      spec: { ports: { port: number }[] };
    }[];
    const found = routes.filter(({ kind }) => /^(HTTP|GRPC)Route$/.test(kind));
    expect(found.length).toBe(2);
    for (const { kind, spec } of found) {
      const [{ name, port } = { name: '', port: 0 }] = spec.rules[0]!.backendRefs;
      const service = services.find(({ metadata }) => metadata.name === name);
      expect(service?.spec.ports.map((one) => one.port)).toContain(port);
      if (kind === 'HTTPRoute')
        expect(spec.rules[0]!.timeouts).toEqual({ request: '0s', backendRequest: '0s' });
    }
  });
});
