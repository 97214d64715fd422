/**
 * Prisma's schema engine in WebAssembly: what `prisma migrate` asks of its native engine, with nothing to download.
 *
 * It talks to Postgres through @prisma/adapter-pg, whose migration half needs the three repairs below. The engine keeps
 * Prisma's advisory lock until its connections close, so each question gets an engine of its own and ends it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  DriverAdapterError,
  type SqlDriverAdapter,
} from '@prisma/driver-adapter-utils';
import type * as wasm from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import { createScratchDatabase } from './scratch-database.ts';

export interface Project {
  /** Of a role that may create databases. */
  readonly url: string;
  readonly migrationsDirectory: string;
  readonly schemaFile: string;
}

const noFilters = { externalTables: [], externalEnums: [] };

/** The SQL that leads from the migrations to the Prisma schema; empty if they agree. Uses a database of its own. */
export async function diffMigrationsToSchema(project: Project): Promise<string> {
  const { exitCode, stdout } = await withEngine(project, (engine) =>
    engine.diff({
      from: { tag: 'migrations', ...migrationList(project.migrationsDirectory) },
      to: { tag: 'schemaDatamodel', files: [schemaOf(project)] },
      script: true,
      exitCode: true,
      filters: noFilters,
    }),
  );
  return exitCode === 0 ? '' : (stdout ?? '');
}

/** What `prisma migrate status` knows of the database that the connection string names. */
export function diagnoseMigrationHistory(project: Project): Promise<wasm.DiagnoseMigrationHistoryOutput> {
  return withEngine(project, (engine) =>
    engine.diagnoseMigrationHistory({
      migrationsList: migrationList(project.migrationsDirectory),
      optInToShadowDatabase: true,
      filters: noFilters,
    }),
  );
}

async function withEngine<Answer>(
  project: Project,
  ask: (engine: wasm.SchemaEngine) => Promise<Answer>,
): Promise<Answer> {
  engineLoaded ??= loadEngine();
  const { SchemaEngine } = await engineLoaded;
  const adapters: SqlDriverAdapter[] = [];
  const remembered = (adapter: SqlDriverAdapter) => {
    adapters.push(adapter);
    return adapter;
  };
  const factory = bindMigrationAwareSqlAdapterFactory({
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    connect: async () => remembered(await connect(project.url)),
    connectToShadowDb: async () => remembered(await connectToShadowDatabase(project.url)),
  });
  const { path, content } = schemaOf(project);
  try {
    const engine = await SchemaEngine.new({ datamodels: [[path, content]] }, () => {}, factory);
    return await ask(engine);
  } finally {
    for (const adapter of adapters) await adapter.dispose();
  }
}

function schemaOf({ schemaFile }: Project): { path: string; content: string } {
  return { path: resolve(schemaFile), content: readFileSync(schemaFile, 'utf8') };
}

function migrationList(directory: string): wasm.MigrationList {
  const names = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const lockfile = join(directory, 'migration_lock.toml');
  return {
    baseDir: resolve(directory),
    lockfile: {
      path: 'migration_lock.toml',
      content: existsSync(lockfile) ? readFileSync(lockfile, 'utf8') : null,
    },
    shadowDbInitScript: '',
    migrationDirectories: names
      .map(({ name }) => name)
      .sort()
      .map((path) => ({
        path,
        migrationFile: {
          path: 'migration.sql',
          content: { tag: 'ok', value: readFileSync(join(directory, path, 'migration.sql'), 'utf8') },
        },
      })),
  };
}

// Global in every Node, but TypeScript has it only in its library for browsers.
declare const WebAssembly: {
  instantiate(
    code: Uint8Array,
    imports: object,
  ): Promise<{ instance: { exports: Record<string, () => void> } }>;
};

let engineLoaded: Promise<typeof wasm> | undefined;

/** The package's own entry imports the .wasm file as a module, which Node 20 does only behind a flag. */
async function loadEngine(): Promise<typeof wasm> {
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: { set_message: console.error } });
  const glueFile = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const glue: typeof wasm = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  const code = readFileSync(glueFile.replace(/\.js$/, '.wasm'));
  const { instance } = await WebAssembly.instantiate(code, { './schema_engine_bg.js': glue });
  glue.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start?.();
  return glue;
}

async function connect(url: string, afterDispose = async () => {}): Promise<SqlDriverAdapter> {
  const config = { connectionString: url, options: '-c search_path=jobtree' };
  const adapter = await new PrismaPg(config).connect();
  const pool = adapter.underlyingDriver();

  // The engine disposes of some adapters itself, and a pool must not be ended twice.
  let disposed: Promise<void> | undefined;
  adapter.dispose = () => {
    disposed ??= pool.end().then(afterDispose);
    return disposed;
  };

  // The adapter splits a script at each semicolon, also at those within the body of a function.
  const query = pool.query.bind(pool) as (query: pg.QueryConfig) => Promise<pg.QueryResult>;
  adapter.executeScript = async (text) => {
    await query({ text }).catch(
      ({ code = '', severity = '', message, detail, column, hint }: pg.DatabaseError) => {
        throw new DriverAdapterError({ kind: 'postgres', code, severity, message, detail, column, hint });
      },
    );
  };

  // It refuses the type "char", which the system catalog has, and the engine will not take text for it.
  const { CHAR, TEXT } = pg.types.builtins;
  const characterColumns = new WeakMap<unknown[], boolean[]>();
  pool.query = (async (config: pg.QueryConfig) => {
    const result = await query(config);
    characterColumns.set(
      result.rows,
      result.fields.map(({ dataTypeID }) => dataTypeID === CHAR),
    );
    for (const field of result.fields) if (field.dataTypeID === CHAR) field.dataTypeID = TEXT;
    return result;
  }) as typeof pool.query;
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (config) => {
    const result = await queryRaw(config);
    const isCharacter = characterColumns.get(result.rows) ?? [];
    const columnTypes = result.columnTypes.map((type, n) =>
      isCharacter[n] ? ColumnTypeEnum.Character : type,
    );
    return { ...result, columnTypes };
  };
  return adapter;
}

/** The adapter's own would connect to the main database again, and run all migrations there. */
async function connectToShadowDatabase(url: string): Promise<SqlDriverAdapter> {
  const database = await createScratchDatabase(url);
  const adapter = await connect(database.url, database.drop);
  await adapter.executeScript('create schema jobtree');
  return adapter;
}
