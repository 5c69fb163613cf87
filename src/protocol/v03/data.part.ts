import { fromJson, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { type Value, ValueSchema } from '@bufbuild/protobuf/wkt';
import { isObject } from '../json.diagnosis.js';

/** Part metadata that says: the data stood alone in 1.0 and is wrapped here. The SDKs use the same. */
const MARK = 'data_part_compat';

/** A data part as 0.3 has it: always an object. */
export interface WrappedData {
  readonly data: JsonObject;
  readonly metadata: JsonObject | undefined;
}

/** Data of any kind as an object; what is none goes into one and is marked. */
export function wrapData(value: Value, metadata: JsonObject | undefined): WrappedData {
  const data = toJson(ValueSchema, value);
  if (isObject(data)) return { data, metadata };
  return { data: { value: data }, metadata: { ...metadata, [MARK]: true } };
}

/** The JSON value that was wrapped, and the metadata without the mark. */
export function unwrapData({ data, metadata }: WrappedData): {
  data: JsonValue;
  metadata: JsonObject | undefined;
} {
  if (metadata?.[MARK] !== true || !('value' in data)) return { data, metadata };
  const { [MARK]: _, ...others } = metadata;
  return { data: data.value!, metadata: Object.keys(others).length > 0 ? others : undefined };
}

export const toValue = (json: JsonValue): Value => fromJson(ValueSchema, json);
