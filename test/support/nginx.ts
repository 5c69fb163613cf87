import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { ServiceAddress } from './any.binding.js';
import { freePorts } from './free.ports.js';

const TEMPLATE = new URL('../../docker/nginx.conf.template', import.meta.url);

/** Whether nginx is installed. */
export function hasNginx(): boolean {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** nginx with the configuration of docker/, in front of replicas that need not run yet. */
export class Nginx implements ServiceAddress {
  private constructor(
    readonly httpUrl: string,
    readonly grpcAddress: string,
    private readonly folder: string,
    private readonly process: ChildProcess,
  ) {}

  /** @param readTimeout how long nginx waits for the next byte, such as `2s` */
  static async start(replicas: readonly ServiceAddress[], readTimeout: string): Promise<Nginx> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-nginx-'));
    const [http = 0, grpc = 0] = await freePorts(2);
    const servers = (addresses: string[]) =>
      addresses.map((address) => `server ${address} max_fails=0;`).join(' ');
    const variables: Readonly<Record<string, string>> = {
      PARLEY_HTTP_SERVERS: servers(replicas.map(({ httpUrl }) => new URL(httpUrl).host)),
      PARLEY_GRPC_SERVERS: servers(replicas.map(({ grpcAddress }) => grpcAddress)),
      NGINX_HTTP_PORT: `127.0.0.1:${http}`,
      NGINX_GRPC_PORT: `127.0.0.1:${grpc}`,
      NGINX_READ_TIMEOUT: readTimeout,
    };
    const rendered = readFileSync(TEMPLATE, 'utf8').replace(/\$\{(\w+)\}/g, (_, name: string) => {
      if (!(name in variables)) throw new Error(`The template wants ${name}`);
      return variables[name]!;
    });
    writeFileSync(join(folder, 'parley.conf'), rendered);
    writeFileSync(join(folder, 'nginx.conf'), frame(folder));
    const process = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const nginx = new Nginx(`http://127.0.0.1:${http}`, `127.0.0.1:${grpc}`, folder, process);
    await vi.waitUntil(() => answers(http), { timeout: 10_000 });
    return nginx;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGTERM');
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What the image of nginx has around a site's configuration, with everything it writes in one folder. */
function frame(folder: string): string {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    daemon off;
    worker_processes 2;
    pid ${folder}/nginx.pid;
    error_log stderr crit;
    events { worker_connections 1024; }
    http { access_log off; ${places.join(' ')} include ${folder}/parley.conf; }`;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.unref();
  });
}
