// @ts-check
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { credentials, loadPackageDefinition, Metadata } from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';

const PROTO = fileURLToPath(new URL('../../../proto', import.meta.url));

/**
 * Nothing but stubs from `a2a.proto`. On gRPC the tenant says which agent is meant.
 *
 * @param {string} address `host:port`
 * @returns {Promise<import('./sdk.client.mjs').DemoClient & { close(): void }>}
 */
export async function grpcClient(address) {
  const definition = await load('a2a.proto', { includeDirs: [PROTO], enums: String, oneofs: true });
  const { A2AService } = /** @type {any} */ (loadPackageDefinition(definition)).lf.a2a.v1;
  const stub = new A2AService(address, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('a2a-version', '1.0');
  const sendMessage = promisify(stub.sendMessage.bind(stub));
  return {
    send: async (tenant, message) => withPlainData(await sendMessage({ tenant, message }, metadata)),
    async *stream(tenant, message) {
      for await (const event of stub.sendStreamingMessage({ tenant, message }, metadata))
        yield withPlainData(event);
    },
    close: () => stub.close(),
  };
}

/** Data parts as JSON: stubs give a `google.protobuf.Value` as it is on the wire. @param {any} event */
function withPlainData(event) {
  const artifacts = event.task?.artifacts ?? [event.artifactUpdate?.artifact ?? {}];
  for (const part of artifacts.flatMap((/** @type {any} */ artifact) => artifact.parts ?? [])) {
    if (part.data) part.data = plain(part.data);
  }
  return event;
}

/** @param {any} value @returns {unknown} */
function plain(value) {
  if (value.structValue) {
    const fields = Object.entries(value.structValue.fields ?? {});
    return Object.fromEntries(fields.map(([key, field]) => [key, plain(field)]));
  }
  if (value.listValue) return (value.listValue.values ?? []).map(plain);
  return value.kind === 'nullValue' ? null : value[value.kind];
}
