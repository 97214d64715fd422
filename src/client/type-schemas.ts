/** The schemas of types: registered by those who define a type, and checked by the server. */
import type { TypeSchemasQuery } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import type { DefinedType } from './define-type.ts';
import { answerOf, JobtreeError, payloadOf } from './errors.ts';
import type { Send } from './options.ts';
import { toJsonSchema } from './standard-schema.ts';
import type { CallOptions } from './types.ts';

/** A version of a type with its schemas; null where anything is valid. */
export type TypeSchema = NonNullable<TypeSchemasQuery['typeSchemas']>[number];

/** A version of a type to register, with a JSON Schema for payloads, for results, or for both. */
export interface TypeSchemaSpec {
  /** 1 to 200 characters. */
  readonly type: string;
  /** 1 to 1,000,000. Default: 1. */
  readonly version?: number | undefined;
  /** A JSON Schema for payloads. Default: any payload is valid. */
  readonly payload?: unknown;
  /** A JSON Schema for results. Default: any result is valid. */
  readonly result?: unknown;
}

const mostInAnswer = 1_000;

export class TypeSchemas {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * Registers the schemas of a type: those of a type that `defineType` made with schemas, or JSON Schemas. Programs do this when
   * they start; registering the same schemas again changes nothing.
   *
   * @returns whether the version is new
   * @throws JobtreeError INVALID_INPUT if one is not a valid schema, or if the version exists with other schemas
   */
  async register(
    type: DefinedType<never, unknown> | TypeSchemaSpec,
    options: CallOptions = {},
  ): Promise<{ created: boolean }> {
    const input = toInput(type);
    const data = await this.#send(operations.PutTypeSchema, { input }, options, true);
    return payloadOf(data.putTypeSchema);
  }

  /** The names of all types that have schemas. */
  async list(options: CallOptions = {}): Promise<string[]> {
    const all: string[] = [];
    for (;;) {
      const variables = { first: mostInAnswer, after: all.at(-1) };
      const data = await this.#send(operations.TypesWithSchemas, variables, options, true);
      const types = answerOf(data.typesWithSchemas);
      all.push(...types);
      if (types.length < mostInAnswer) return all;
    }
  }

  /** All versions of a type, newest first; empty if it has no schemas. */
  async versions(type: string, options: CallOptions = {}): Promise<TypeSchema[]> {
    const data = await this.#send(operations.TypeSchemas, { type }, options, true);
    return answerOf(data.typeSchemas);
  }

  /**
   * Removes a version: from now on, what matches no other version is refused. Without any version, the type accepts everything.
   *
   * @returns whether there was such a version
   */
  async delete(type: string, version: number, options: CallOptions = {}): Promise<{ deleted: boolean }> {
    const input = { type, version };
    const data = await this.#send(operations.DeleteTypeSchema, { input }, options, true);
    return payloadOf(data.deleteTypeSchema);
  }
}

function toInput(spec: DefinedType<never, unknown> | TypeSchemaSpec) {
  if (!('job' in spec)) return { ...spec, version: spec.version ?? 1 };
  const { type, schemas } = spec;
  if (schemas === undefined) {
    throw new JobtreeError('INVALID_INPUT', `${type} was defined without schemas.`, { field: 'schemas' });
  }
  const { version = 1, payload, result } = schemas;
  return {
    type,
    version,
    payload: payload && toJsonSchema(payload, 'payload'),
    result: result && toJsonSchema(result, 'result'),
  };
}
