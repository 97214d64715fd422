/** Schemas of libraries such as Zod, Valibot or ArkType, through their common interface (standardschema.dev). */
import { JobtreeError } from './errors.ts';

/** A schema of such a library, if it can be converted to a JSON Schema. */
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

/** The input type of a schema, before it transforms anything: that is what is sent. */
export type InputOf<Schema> = Schema extends StandardSchema<infer Input, unknown> ? Input : never;

/** @throws JobtreeError INVALID_INPUT if it has no JSON Schema */
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
    throw new JobtreeError('INVALID_INPUT', `${field} can't be converted to a JSON Schema: ${why}`, {
      field,
      cause: error,
    });
  }
}

/** Libraries write some formats, such as email, as regular expressions with lookaround, which the server does not accept. */
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
