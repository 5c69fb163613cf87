import { type Client, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATION_NAMES } from '../../src/protocol/index.js';
import { grpcClient, metadata, unary } from '../support/bindings.js';
import { health, reflected } from '../support/grpc.services.js';
import { ServiceStage } from './stage.js';
import { says } from './task.calls.js';

const stage = new ServiceStage();
let stub: Client;
beforeAll(() => {
  stub = grpcClient(stage.grpcAddress);
});
afterAll(() => stub.close());

const STREAMS = ['sendStreamingMessage', 'subscribeToTask'];

describe('gRPC', () => {
  it('is the service lf.a2a.v1.A2AService with eleven rpcs, two of them streams (S002-146)', async () => {
    expect(await reflected(stage.grpcAddress)).toContain('lf.a2a.v1.A2AService');
    const { service } = stub.constructor as unknown as {
      service: Record<string, { path: string; responseStream: boolean }>;
    };
    const names = OPERATION_NAMES.map((name) => name.charAt(0).toUpperCase() + name.slice(1));
    expect(Object.keys(service).sort()).toEqual([...names].sort());
    for (const [name, { path, responseStream }] of Object.entries(service)) {
      expect(path).toBe(`/lf.a2a.v1.A2AService/${name}`);
      expect(responseStream).toBe(STREAMS.includes(name.charAt(0).toLowerCase() + name.slice(1)));
    }
  });

  it('takes an absent version for 0.3, which this agent is not served in (S002-147)', async () => {
    for (const given of [metadata({}), metadata({ 'a2a-version': '' }), metadata({ 'a2a-version': '0.3' })]) {
      const { error } = await unary(stub, 'ListTasks', { tenant: 'conformance' }, given);
      expect(error?.code).toBe(status.FAILED_PRECONDITION);
      expect(error?.details).toContain('A2A-Version: 1.0');
    }
  });

  it('has a status for each kind of error, with details (S002-148)', async () => {
    const message = says('silent');
    const expected: [string, object, status][] = [
      ['GetTask', { id: 'unknown' }, status.NOT_FOUND],
      ['GetTask', {}, status.INVALID_ARGUMENT],
      ['SendMessage', { message: { ...message, parts: [{ text: 'silent' }] } }, status.INTERNAL],
      ['GetExtendedAgentCard', { tenant: 'conformance' }, status.FAILED_PRECONDITION],
      ['GetTask', { id: 'a', tenant: 'nobody' }, status.NOT_FOUND],
    ];
    for (const [rpc, request, code] of expected) {
      const { error } = await unary(stub, rpc, request);
      expect(error?.code, rpc).toBe(code);
      expect(error?.metadata.get('grpc-status-details-bin')).toHaveLength(1);
    }
  });

  it('reports health and describes itself (S002-150)', async () => {
    expect(await health(stage.grpcAddress)).toBe('SERVING');
    expect(await health(stage.grpcAddress, 'lf.a2a.v1.A2AService')).toBe('SERVING');
  });
});
