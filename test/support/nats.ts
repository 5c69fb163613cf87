import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { until } from './house.js';

/** Whether this machine has a NATS server; without one the tests that need it are skipped. */
export const HAS_NATS = (() => {
  try {
    execFileSync('nats-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

export interface NatsServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** A NATS server of its own; with `port` on the port of an earlier one. */
export async function startNats(port?: number): Promise<NatsServer> {
  const own = port ?? (await freePort());
  const child = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(own)], { stdio: 'ignore' });
  await until(() => answers(own));
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { url: `nats://127.0.0.1:${own}`, stop };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await once(probe.close(), 'close');
  return port;
}
