/** Schemas of libraries such as Zod, Valibot or ArkType, by the interface that they share (standardschema.dev). */
import { JobtreeError } from './errors.ts';

/** What such a library makes, if it can give a JSON Schema of it. */
export interface StandardSchema<Input = unknown, Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?:
      | {
          input(options: { readonly target: 'draft-2020-12' }): Record<string, unknown>;
        }
      | undefined;
  };
}

/** What travels: what goes into the schema, before it makes anything else of it. */
export type InputOf<Schema> = Schema extends StandardSchema<infer Input, unknown> ? Input : never;

/** @throws JobtreeError INVALID_INPUT if there is no JSON Schema of it */
export function toJsonSchema(schema: StandardSchema, field: string): unknown {
  const { vendor, jsonSchema } = schema['~standard'];
  if (jsonSchema === undefined) {
    throw new JobtreeError(
      'INVALID_INPUT',
      `${field}: this version of ${vendor} gives no JSON Schema ("~standard".jsonSchema). Register one: client.types.register({ type, version, payload }).`,
      { field },
    );
  }
  try {
    return withoutLookaround(jsonSchema.input({ target: 'draft-2020-12' }));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new JobtreeError('INVALID_INPUT', `${field} can't be a JSON Schema: ${why}`, {
      field,
      cause: error,
    });
  }
}

/** Libraries write some formats, as that of an email, as regular expressions with lookaround, which servers do not take. */
function withoutLookaround(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLookaround);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) =>
      key === 'pattern' && 'format' in value && typeof one === 'string' && /\(\?<?[=!]/.test(one)
        ? []
        : [[key, withoutLookaround(one)]],
    ),
  );
}
