/** The schemas of types: registered by those who define a type, checked by the server. */
import type { TypeSchemasQuery } from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import type { DefinedType } from './define-type.ts';
import { answerOf, JobtreeError, payloadOf } from './errors.ts';
import type { Http } from './http.ts';
import { toJsonSchema } from './standard-schema.ts';
import type { CallOptions } from './types.ts';

/** A version of a type with its schemas, null where anything goes. */
export type TypeSchema = NonNullable<TypeSchemasQuery['typeSchemas']>[number];

/** A version of a type to be registered, with JSON Schemas: at least one of them. */
export interface TypeSchemaSpec {
  /** 1 to 200 characters. */
  readonly type: string;
  /** 1 to 1,000,000. Default: 1. */
  readonly version?: number | undefined;
  /** What payloads meet. Default: any payload will do. */
  readonly payload?: unknown;
  /** What results meet. Default: any result will do. */
  readonly result?: unknown;
}

const mostInAnswer = 1_000;

export class TypeSchemas {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Registers what payloads and results of a type look like: of one that `defineType` made with schemas, or by JSON Schemas. A program
   * does it when it starts; doing it again changes nothing.
   *
   * @returns whether the version is new
   * @throws JobtreeError INVALID_INPUT for what is no schema, or if the version is there with other ones
   */
  async register(
    type: DefinedType<never, unknown> | TypeSchemaSpec,
    { signal }: CallOptions = {},
  ): Promise<{ created: boolean }> {
    const input = toInput(type);
    const data = await this.#http.request(operations.PutTypeSchema, { input }, { repeatable: true, signal });
    return payloadOf(data.putTypeSchema);
  }

  /** The names of all types that have schemas. */
  async list({ signal }: CallOptions = {}): Promise<string[]> {
    const all: string[] = [];
    for (;;) {
      const variables = { first: mostInAnswer, after: all.at(-1) };
      const request = { repeatable: true, signal };
      const data = await this.#http.request(operations.TypesWithSchemas, variables, request);
      const types = answerOf(data.typesWithSchemas);
      all.push(...types);
      if (types.length < mostInAnswer) return all;
    }
  }

  /** All versions of a type, the newest first; none if it has no schemas. */
  async versions(type: string, { signal }: CallOptions = {}): Promise<TypeSchema[]> {
    const data = await this.#http.request(operations.TypeSchemas, { type }, { repeatable: true, signal });
    return answerOf(data.typeSchemas);
  }

  /**
   * Removes a version: what meets no other one is refused from now on. Without any, the type takes everything.
   *
   * @returns whether there was such a version
   */
  async delete(type: string, version: number, { signal }: CallOptions = {}): Promise<{ deleted: boolean }> {
    const input = { type, version };
    const data = await this.#http.request(
      operations.DeleteTypeSchema,
      { input },
      { repeatable: true, signal },
    );
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
