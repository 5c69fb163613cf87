import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { type Client, credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const require = createRequire(import.meta.url);

type ClientClass = new (
  address: string,
  credentials: object,
) => Client & Record<string, (...given: unknown[]) => unknown>;

/** A client of a service whose proto file an npm package brings along. */
function clientOf(packageName: string, proto: string, names: string[], address: string) {
  const root = dirname(require.resolve(`${packageName}/package.json`));
  const loaded = loadPackageDefinition(loadSync(`${root}/${proto}`, { enums: String, oneofs: true }));
  const found = names.reduce<unknown>((scope, name) => (scope as Record<string, unknown>)[name], loaded);
  return new (found as ClientClass)(address, credentials.createInsecure());
}

/** What the health service says of a service. */
export async function health(address: string, service = ''): Promise<string> {
  const names = ['grpc', 'health', 'v1', 'Health'];
  const client = clientOf('grpc-health-check', 'proto/health/v1/health.proto', names, address);
  try {
    return await new Promise<string>((resolve, reject) => {
      const done = (error: Error | null, reply: { status: string }) =>
        error ? reject(error) : resolve(reply.status);
      client.check?.({ service }, done);
    });
  } finally {
    client.close();
  }
}

interface ReflectionCall {
  on(
    event: 'data',
    listener: (reply: { listServicesResponse: { service: { name: string }[] } }) => void,
  ): void;
  on(event: 'error', listener: (error: Error) => void): void;
  write(request: object): void;
  end(): void;
}

/** The services that reflection lists. */
export async function reflected(address: string): Promise<string[]> {
  const names = ['grpc', 'reflection', 'v1', 'ServerReflection'];
  const proto = 'build/proto/grpc/reflection/v1/reflection.proto';
  const client = clientOf('@grpc/reflection', proto, names, address);
  try {
    return await new Promise<string[]>((resolve, reject) => {
      const call = client.serverReflectionInfo?.() as ReflectionCall;
      call.on('data', ({ listServicesResponse }) =>
        resolve(listServicesResponse.service.map(({ name }) => name)),
      );
      call.on('error', reject);
      call.write({ listServices: '' });
      call.end();
    });
  } finally {
    client.close();
  }
}
