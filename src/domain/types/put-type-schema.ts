/** Registers, removes and reads the schemas of types. For what they do, see type-schemas.ts. */
import type { Queries, Statement } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import { checkInteger, checkName, isDeeperThan, toJsonText } from '../values/checks.ts';
import { JsonText, toPlain } from '../values/json-text.ts';
import { maxJsonDepth, maxNameLength, maxSchemaBytes, maxTypeVersion } from '../values/limits.ts';
import { namesOf, tenantOf } from '../values/tenants.ts';
import type { TypeSchemas } from './type-schemas.ts';

/** What schemas need of the engine. */
interface SchemaEngine {
  readonly database: Queries;
  readonly schemas: TypeSchemas;
}

export interface TypeSchema {
  readonly type: string;
  readonly version: number;
  /** JSON Schemas; null if anything is allowed. */
  readonly payload: JsonText | null;
  readonly result: JsonText | null;
  readonly createdAt: Date;
}

export interface NewTypeSchema {
  readonly type: string;
  readonly version: number;
  readonly payload?: unknown;
  readonly result?: unknown;
}

const maxVersions = 10;
/** Limited, since every server reads all of them regularly. Each tenant has a limit of its own, so none uses up another's. */
const maxOfAll = 1_000;
const maxOfTenant = 100;

/** Does nothing if the version has other schemas, or at a limit, which concurrent calls may exceed by a few. */
const putVersion: Statement = {
  name: 'put_type_schema',
  text: `insert into jobtree.type_schema as t (id, type, version, payload, result, created_at)
    select jobtree.new_id(), $1::text, $2::integer, $3::json, $4::json, clock_timestamp()
    where exists (select from jobtree.type_schema t where t.type = $1 and t.version = $2)
      or (select count(*) from jobtree.type_schema t where t.type = $1) < ${maxVersions}
        and (select count(*) from jobtree.type_schema t where jobtree.tenant_beginning(t.type) = jobtree.tenant_beginning($1))
          < case jobtree.tenant_beginning($1) when '' then ${maxOfAll} else ${maxOfTenant} end
    on conflict (type, version) do update set version = excluded.version
    where t.payload::jsonb is not distinct from excluded.payload::jsonb and t.result::jsonb is not distinct from excluded.result::jsonb
    returning xmax = 0 as created`,
};

/** Registers a version, unless the same one is registered already. @throws InvalidInputError */
export async function putTypeSchema(
  engine: SchemaEngine,
  schema: NewTypeSchema,
): Promise<{ created: boolean }> {
  const type = checkName(schema.type, 'type', maxNameLength);
  const version = checkInteger(schema.version, 'version', 1, maxTypeVersion);
  if ((schema.payload ?? schema.result) == null)
    throw new InvalidInputError('Neither a payload nor a result schema is given.', 'payload');
  const payload = await toSchemaText(schema.payload, 'payload');
  const result = await toSchemaText(schema.result, 'result');
  const [row] = await engine.database.call<{ created: boolean }>(putVersion, type, version, payload, result);
  if (row === undefined) {
    const known = await readTypeSchemas(engine.database, type);
    const why = known.some((other) => other.version === version)
      ? `version ${version} of ${type} has other schemas: register these as another version.`
      : known.length >= maxVersions
        ? `type ${type} has ten versions: remove one that is no longer used.`
        : `There are ${tenantOf(type) === null ? maxOfAll : maxOfTenant} versions of types: remove some that are no longer used.`;
    throw new InvalidInputError(why, 'version');
  }
  await engine.schemas.refresh();
  return row;
}

const deleteVersion: Statement = {
  name: 'delete_type_schema',
  text: 'delete from jobtree.type_schema where type = $1 and version = $2 returning id',
};

/**
 * From now on, data that fits no other version is rejected; without any version the type accepts everything. What was added before stays.
 */
export async function deleteTypeSchema(
  engine: SchemaEngine,
  type: string,
  version: number,
): Promise<{ deleted: boolean }> {
  checkName(type, 'type', maxNameLength);
  checkInteger(version, 'version', 1, maxTypeVersion);
  const deleted = await engine.database.call(deleteVersion, type, version);
  await engine.schemas.refresh();
  return { deleted: deleted.length > 0 };
}

async function toSchemaText(schema: unknown, field: string): Promise<string | null> {
  if (schema == null) return null;
  const { compileInTurn, SchemaError } = await import('./json-schema.ts');
  const plain = isDeeperThan(schema, maxJsonDepth) ? schema : toPlain(schema);
  try {
    await compileInTurn(plain, field);
  } catch (error) {
    if (error instanceof SchemaError) throw new InvalidInputError(error.message, error.path);
    throw error;
  }
  return toJsonText(plain, field, maxSchemaBytes);
}

/** The names of all types of a tenant, or of all, that have schemas. */
export async function readTypesWithSchemas(
  database: Queries,
  { tenant, after }: { tenant: string | null; after: string | null },
): Promise<string[]> {
  const { from, until } = namesOf(tenant);
  const { rows } = await database.pool.query<{ type: string }>({
    name: 'read_types_with_schemas',
    text: `select distinct type from jobtree.type_schema
           where ($1::text is null or type > $1) and ($2::text is null or type < $2) order by type`,
    values: [after ?? from, until],
  });
  return rows.map(({ type }) => type);
}

/** All versions of a type, newest first. */
export async function readTypeSchemas(database: Queries, type: string): Promise<TypeSchema[]> {
  const { rows } = await database.pool.query<{
    version: number;
    payload: string | null;
    result: string | null;
    created_at: Date;
  }>({
    name: 'read_type_schemas',
    text: `select version, payload::text, result::text, created_at from jobtree.type_schema
           where type = $1 order by version desc`,
    values: [type],
  });
  return rows.map(({ version, payload, result, created_at: createdAt }) => ({
    type,
    version,
    payload: payload === null ? null : new JsonText(payload),
    result: result === null ? null : new JsonText(result),
    createdAt,
  }));
}
