import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../machine.mjs';

const LOOK_MS = 20;

/** A NATS server of this run's own; undefined where none is installed (Debian: `nats-server`). */
export async function startNats() {
  try {
    execFileSync('nats-server', ['--version'], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  const port = await freePort();
  const child = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  while (!(await answers(port))) await delay(LOOK_MS);
  return {
    url: `nats://127.0.0.1:${port}`,
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => resolve(Boolean(socket.destroy())));
  });
}
