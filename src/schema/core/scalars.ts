import { GraphQLError, Kind, type ValueNode } from 'graphql';
import { isDeeperThan } from '../../domain/values/checks.ts';
import { toExactNumber } from '../../domain/values/json-text.ts';
import { maxJsonDepth, maxShownDepth } from '../../domain/values/limits.ts';
import { builder } from './builder.ts';

builder.scalarType('DateTime', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
  description:
    'An instant in ISO 8601 with its offset: `2026-03-01T09:30:00Z`. From 1970 to the end of the year 9999, to the millisecond.',
  serialize: (value) =>
    (value instanceof Date ? value : new Date(value as string | number)).toISOString() as unknown as Date,
  parseValue: parseInstant,
  parseLiteral: (node) => parseInstant(node.kind === Kind.STRING ? node.value : undefined),
});

const iso = /^(?<date>[+-]?\d{4,6}-\d\d-(?<day>\d\d))T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Text that is not an instant, or one out of range, becomes an invalid date, so that the check of the field reports it by name. */
function parseInstant(value: unknown): Date {
  if (typeof value !== 'string') throw new GraphQLError('A DateTime is a string in ISO 8601.');
  const { date, day } = iso.exec(value)?.groups ?? {};
  // JavaScript would accept 31 February as 3 March.
  const exists = date !== undefined && new Date(date).getUTCDate() === Number(day);
  return new Date(exists ? value : Number.NaN);
}

builder.scalarType('Count', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc7493#section-2.2',
  description: 'A whole number from 0 to 2^53 - 1, as a JSON number.',
  serialize: toCount,
  parseValue: toCount,
  parseLiteral: (node) => toCount(node.kind === Kind.INT ? Number(node.value) : undefined),
});

function toCount(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw new GraphQLError('A Count is a whole number from 0 to 2^53 - 1.');
  }
  return value as number;
}

/** Concerns one value only: the rest of the answer is shown. */
export const tooDeep = () =>
  new GraphQLError(
    `This is nested more than ${maxShownDepth} levels deep, which is too deep to be shown; it is older than the limit of ${maxJsonDepth}.`,
    { extensions: { code: 'TOO_DEEP' } },
  );

builder.scalarType('JSON', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  description:
    'Any JSON value, including null. It is returned as it was sent, with its keys in order (but keys that are whole numbers come first, as in JavaScript); of several equal keys the last one counts, and numbers keep their values, with all digits. Refused are text with `\\u0000` or half a surrogate pair, numbers beyond 1.8e308, and more than 256 levels of lists and objects.',
  serialize: (value) => {
    if (!isDeeperThan(value, maxShownDepth)) return value;
    throw tooDeep();
  },
  parseValue: (value) => value as NonNullable<unknown>,
  parseLiteral: (node, variables) => literal(node, variables ?? {}) as NonNullable<unknown>,
});

function literal(node: ValueNode, variables: Record<string, unknown>): unknown {
  switch (node.kind) {
    case Kind.OBJECT:
      return Object.fromEntries(
        node.fields.map((field) => [field.name.value, literal(field.value, variables)]),
      );
    case Kind.LIST:
      return node.values.map((value) => literal(value, variables));
    case Kind.INT:
    case Kind.FLOAT:
      return toExactNumber(node.value);
    case Kind.VARIABLE:
      return variables[node.name.value];
    case Kind.NULL:
      return null;
    default:
      return node.value;
  }
}
