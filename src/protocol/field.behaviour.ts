import { type DescField, getOption } from '@bufbuild/protobuf';
import { FieldBehavior, field_behavior } from './gen/google/api/field_behavior_pb.js';

/** Whether the proto marks the field REQUIRED. */
export function isRequired(field: DescField): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}
