import pg from 'pg';

const { builtins } = pg.types;
const TEXT_ARRAY = 1009;
const INT8_ARRAY = 1016;
const JSON_ARRAYS = [199, 3807];

const asText = (value: string) => value;
const textArray: (value: string) => string[] = pg.types.getTypeParser(TEXT_ARRAY as number);

/**
 * How our own queries read columns. Json stays text: it goes out as it is or through the ProtoJSON codec, and
 * nobody parses it twice. int8 becomes a number: counters and sequence numbers stay far below 2^53.
 */
const PARSERS = new Map<number, (value: string) => unknown>([
  [builtins.INT8, Number],
  [INT8_ARRAY, (value) => textArray(value).map(Number)],
  [builtins.JSON, asText],
  [builtins.JSONB, asText],
  ...JSON_ARRAYS.map((oid) => [oid, textArray] as const),
]);

export const COLUMN_TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    PARSERS.get(oid) ?? pg.types.getTypeParser(oid, format)) as pg.CustomTypesConfig['getTypeParser'],
};
