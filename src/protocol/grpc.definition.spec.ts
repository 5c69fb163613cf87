import { create, createFileRegistry, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type Value,
  ValueSchema,
} from '@bufbuild/protobuf/wkt';
import { loadSync } from '@grpc/proto-loader';
import { describe, expect, it } from 'vitest';
import {
  A2AService,
  fileDescriptorProtos,
  GetTaskRequestSchema,
  grpcServiceDefinition,
  MessageSchema,
  PartSchema,
  SendMessageRequestSchema,
  TaskSchema,
  Undecodable,
} from './index.js';

const definition = grpcServiceDefinition(A2AService);

describe('grpcServiceDefinition', () => {
  it('is the service that stubs generated from a2a.proto call', () => {
    const loaded = loadSync('a2a.proto', { includeDirs: ['proto'] })[
      'lf.a2a.v1.A2AService'
    ] as unknown as typeof definition;
    const shape = (service: typeof definition) =>
      Object.entries(service).map(([name, { path, requestStream, responseStream }]) => ({
        name,
        path,
        requestStream,
        responseStream,
      }));
    expect(shape(definition)).toEqual(shape(loaded));
  });

  it('takes a message or its bytes and reads both back', () => {
    const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } =
      definition.GetTask!;
    const request = create(GetTaskRequestSchema, { id: 't', historyLength: 0 });
    expect(requestDeserialize(requestSerialize(request))).toEqual(request);
    const task = create(TaskSchema, { id: 't' });
    expect(responseDeserialize(responseSerialize(task))).toEqual(task);
    expect(responseSerialize(toBinary(TaskSchema, task))).toEqual(responseSerialize(task));
  });

  it.each([
    ['a cut field', [0x12, 0x05, 0x61]],
    ['an unknown wire type', [0x17]],
    ['the wrong wire type', [0x10, 0x01]],
    ['text that is not UTF-8', [0x12, 0x01, 0xff]],
    ['rubbish', [0xff, 0xff, 0xff, 0xff]],
  ])('marks %s as undecodable instead of throwing', (_, bytes) => {
    expect(definition.GetTask!.requestDeserialize(Uint8Array.from(bytes))).toBeInstanceOf(Undecodable);
  });

  describe('with a limit on values', () => {
    const { requestDeserialize } = grpcServiceDefinition(A2AService, { maxDepth: 100, maxValues: 1_000 })
      .SendMessage!;
    const read = (message: MessageInitShape<typeof MessageSchema>) =>
      requestDeserialize(toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { message })));
    const parts = (count: number) =>
      Array.from({ length: count }, () => ({ content: { case: 'text' as const, value: 'a' } }));
    const refusal = {
      cause: { kind: 'invalidParams', message: expect.stringMatching(/more than 1000 values/) },
    };

    it('takes what JSON may have, data as well as parts', () => {
      const metadata = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`key ${i}`, { a: [i] }]));
      expect(read({ parts: parts(480) })).toMatchObject({ message: { parts: { length: 480 } } });
      expect(read({ parts: parts(1), metadata })).toMatchObject({ message: { metadata } });
    });

    it.each<[string, MessageInitShape<typeof MessageSchema>]>([
      ['parts', { parts: parts(600) }],
      ['ids', { parts: parts(1), referenceTaskIds: Array.from({ length: 1_100 }, () => 'a') }],
      ['metadata', { metadata: Object.fromEntries(Array.from({ length: 1_100 }, (_, i) => [`${i}`, i])) }],
      ['a list in a list', { metadata: { a: [Array.from({ length: 2_100 }, () => 0)] } }],
    ])('refuses too many %s before it decodes them', (_, message) => {
      expect(read(message)).toBeInstanceOf(Undecodable);
      expect(read(message)).toMatchObject(refusal);
    });
  });

  it('drops unknown fields', () => {
    const bytes = [
      ...toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id: 't' })),
      0xfa,
      0x07,
      0x01,
      0x61,
    ];
    expect(definition.GetTask!.requestDeserialize(Uint8Array.from(bytes))).toEqual(
      create(GetTaskRequestSchema, { id: 't' }),
    );
  });

  it('reads values as deep as the JSON bindings do, and no deeper', () => {
    const nested = (levels: number): Value => {
      let value = create(ValueSchema, { kind: { case: 'boolValue', value: true } });
      for (let i = 0; i < levels; i++)
        value = create(ValueSchema, { kind: { case: 'listValue', value: { values: [value] } } });
      return value;
    };
    const sent = (levels: number) => {
      const parts = [create(PartSchema, { content: { case: 'data', value: nested(levels) } })];
      return definition.SendMessage!.requestDeserialize(
        toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { message: { parts } })),
      );
    };
    expect(sent(90)).not.toBeInstanceOf(Undecodable);
    expect(sent(110)).toBeInstanceOf(Undecodable);
  });
});

describe('fileDescriptorProtos', () => {
  it('holds all that a reflection client needs to know the service', () => {
    const file = fileDescriptorProtos().map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
    expect(registry.getService('lf.a2a.v1.A2AService')?.methods).toHaveLength(11);
    expect(new Set(file.map(({ name }) => name)).size).toBe(file.length);
  });
});
