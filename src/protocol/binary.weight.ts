import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { A2AError } from './errors.js';

/** A member of a Struct is up to four fields inside one another: entry, key, Value and kind. */
const FIELDS_OF_A_VALUE = 4;
/** In a field of a map. */
const MAP_VALUE = 2;

/** What a field of a message weighs, and the messages in it by their numbers. */
interface Shape {
  readonly weight: number;
  readonly inside: Map<number, Shape>;
}

/**
 * Weighs before decoding, as `parseJson` counts: two bytes are a message, and ten megabytes of them would hold up all
 * other calls for seconds.
 * @throws A2AError `invalidParams` for more than `most` values; the reader's own errors for what is no message
 */
export function refuseExcess(desc: DescMessage, bytes: Uint8Array, most: number): void {
  const reader = new BinaryReader(bytes);
  let left = most * FIELDS_OF_A_VALUE;
  const weigh = ({ weight, inside }: Shape, end: number): void => {
    while (reader.pos < end) {
      const [number, wireType] = reader.tag();
      left -= weight;
      if (left < 0)
        throw new A2AError('invalidParams', { message: `The request has more than ${most} values` });
      const shape = wireType === WireType.LengthDelimited ? inside.get(number) : undefined;
      if (shape) weigh(shape, reader.uint32() + reader.pos);
      else reader.skip(wireType, number);
    }
  };
  weigh(shapeOf(desc), bytes.length);
}

const shapes = new WeakMap<DescMessage, Shape>();

function shapeOf(desc: DescMessage): Shape {
  let shape = shapes.get(desc);
  if (!shape) {
    shape = {
      weight: desc.typeName.startsWith('google.protobuf.') ? 1 : FIELDS_OF_A_VALUE,
      inside: new Map(),
    };
    // Known before its fields are: message types may contain themselves.
    shapes.set(desc, shape);
    for (const field of desc.fields)
      if (field.message) shape.inside.set(field.number, shapeIn(field, field.message));
  }
  return shape;
}

function shapeIn({ fieldKind }: DescField, desc: DescMessage): Shape {
  if (fieldKind !== 'map') return shapeOf(desc);
  return { weight: 1, inside: new Map([[MAP_VALUE, shapeOf(desc)]]) };
}
