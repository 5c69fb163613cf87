import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  ScalarType,
} from '@bufbuild/protobuf';
import { isRequired } from '../field.behaviour.js';

/** The JSON that ProtoJSON makes of the messages with a form of their own. */
const WELL_KNOWN: Readonly<Record<string, JsonObject>> = {
  'google.protobuf.Timestamp': { type: 'string', format: 'date-time' },
  'google.protobuf.Struct': { type: 'object', additionalProperties: true },
  'google.protobuf.Value': { description: 'Any JSON value' },
  'google.protobuf.Empty': { type: 'object' },
};

const INTEGERS: ReadonlySet<ScalarType> = new Set([
  ScalarType.INT32,
  ScalarType.UINT32,
  ScalarType.SINT32,
  ScalarType.FIXED32,
  ScalarType.SFIXED32,
]);

/** JSON Schemas of messages and enums as their ProtoJSON is (specification 5.5), each once. */
export class MessageSchemas {
  /** By name; those of 0.3 start with `V03`. */
  readonly components: Record<string, JsonObject> = {};

  constructor(private readonly comments: ReadonlyMap<string, string>) {}

  /** A reference to the schema of the type, which is added with all that it refers to. */
  of(desc: DescMessage | DescEnum): JsonObject {
    const known = WELL_KNOWN[desc.typeName];
    if (known) return known;
    const name = (desc.file.proto.package === 'a2a.v1' ? 'V03' : '') + desc.name;
    if (!this.components[name]) {
      // Known before its fields are looked at: message types may contain themselves.
      const schema: JsonObject = {};
      this.components[name] = schema;
      Object.assign(schema, desc.kind === 'enum' ? this.enum(desc) : this.fields(desc));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The object that the message is, without the fields of these names. */
  fields(desc: DescMessage, without: readonly string[] = []): JsonObject {
    const fields = desc.fields.filter(({ name }) => !without.includes(name));
    const required = fields.filter(isRequired).map(({ jsonName }) => jsonName);
    const choices = desc.oneofs.map((group) =>
      group.fields.map(({ jsonName }): JsonObject => ({ required: [jsonName] })),
    );
    return {
      type: 'object',
      ...this.description(desc.name),
      properties: Object.fromEntries(fields.map((field) => [field.jsonName, this.field(field)])),
      ...(required.length > 0 ? { required } : {}),
      ...(choices[0] ? { oneOf: choices[0] } : {}),
    };
  }

  field(field: DescField): JsonObject {
    if (field.fieldKind === 'list') return { type: 'array', items: this.element(field) };
    if (field.fieldKind === 'map') return { type: 'object', additionalProperties: this.element(field) };
    return this.element(field);
  }

  private element(field: DescField): JsonObject {
    if (field.message) return this.of(field.message);
    if (field.enum) return this.of(field.enum);
    const { scalar } = field;
    if (scalar === ScalarType.BOOL) return { type: 'boolean' };
    if (scalar === ScalarType.BYTES) return { type: 'string', contentEncoding: 'base64' };
    if (scalar === ScalarType.DOUBLE || scalar === ScalarType.FLOAT) return { type: 'number' };
    return INTEGERS.has(scalar!) ? { type: 'integer', format: 'int32' } : { type: 'string' };
  }

  private enum(desc: DescEnum): JsonObject {
    return {
      type: 'string',
      ...this.description(desc.name),
      enum: desc.values.map(({ name }) => name),
    };
  }

  private description(name: string): JsonObject {
    const description = this.comments.get(name);
    return description ? { description } : {};
  }
}
