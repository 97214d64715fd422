/**
 * The schemas of types: the form of a type's payloads and results, in up to ten versions. A payload is valid if it matches any of
 * them, so producers and workers of an older version keep working while a new one is rolled out. It is checked when it is added,
 * and never again.
 *
 * Each server knows which types have schemas, at most a second old, and caches the compiled checks that were used last. If no
 * type has a schema, this costs one read a second, while there is something to check.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Database, Statement } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import { toPlain } from '../values/json-text.ts';
import { maxSchemaWork } from '../values/limits.ts';
import { namesOf, withoutTenant } from '../values/tenants.ts';
import type { Validator } from './json-schema.ts';

/** Which part of an item is checked against a schema. */
export type Part = 'payload' | 'result';

/** How long the list of schemas is trusted after it was read. */
const freshMs = 1_000;
const maxValidators = 200;
/** Of the regular expressions in all of them: each may take ten kilobytes. */
const maxInstructions = 15_000;
/** How many types of jobs and leases are cached; they never change. */
const maxKnown = 20_000;
/** After working for this long, checks leave the event loop to others for as long. */
const turnMs = 5;
/** The limit of one call: some seconds at worst, and 25 MB for a schema of usual size. */
const maxWorkOfCall = 50 * maxSchemaWork;

interface Version {
  readonly id: string;
  readonly version: number;
}

/** The schemas that exist: by part and type the versions, newest first. */
interface Known {
  readonly payload: ReadonlyMap<string, readonly Version[]>;
  readonly result: ReadonlyMap<string, readonly Version[]>;
}

/** A value to check: its type, its field for messages, and the length of its JSON text. */
export interface Checked {
  readonly type: string;
  readonly field: string;
  readonly value: unknown;
  readonly length: number;
}

/** Prepares the payload of a new item; `field` is the item. */
export function toChecked(
  type: string,
  field: string,
  value: unknown,
  { payload }: { readonly payload: string },
): Checked {
  return { type, field: `${field}.payload`, value, length: payload.length };
}

/** Read in the connection pool of operations, which wait for it, not in that of reads. */
const knownSchemas: Statement = {
  name: 'known_schemas',
  text: `select type, version, id, payload is not null as has_payload, result is not null as has_result
    from jobtree.type_schema order by type, version desc`,
};
const readSchema: Statement = {
  name: 'read_schema',
  text: 'select payload, result from jobtree.type_schema where id = $1',
};
const typesOfJobs: Statement = {
  name: 'types_of_jobs',
  text: 'select j.id, j.type from jobtree.job j where j.id = any ($1::uuid[])',
};
const typesOfLeases: Statement = {
  name: 'types_of_leases',
  text: `select l.id, j.type from jobtree.lease l join jobtree.job j on j.id = l.job_id
    where l.id = any ($1::uuid[]) and ($2::text is null or j.type > $2 and j.type < $3)`,
};
const fedTypesOfLeases: Statement = {
  name: 'fed_types_of_leases',
  text: `select l.id, array(
      select c.type from jobtree.job c where c.parent_id = l.job_id and c.feed ->> 'source' = 'SUCCESSES'
    ) as type
    from jobtree.lease l where l.id = any ($1::uuid[])`,
};

export class TypeSchemas {
  readonly #database: Database;
  #known: Known = { payload: new Map(), result: new Map() };
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  readonly #validators = new LRUCache<string, Validator>({
    max: maxValidators,
    maxSize: maxInstructions,
    sizeCalculation: ({ instructions }) => instructions + 1,
  });
  readonly #underWay = new Map<string, Promise<Validator | undefined>>();
  readonly #typesOfJobs = new LRUCache<string, string>({ max: maxKnown });
  readonly #typesOfLeases = new LRUCache<string, string>({ max: maxKnown });
  readonly #fedTypesOfLeases = new LRUCache<string, readonly string[]>({ max: maxKnown });

  /** Until somebody asks for types of leases, claims need not be remembered. */
  #isAskedOfLeases = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Whether any type has a schema for this part, so that values need to be checked. */
  async any(part: Part): Promise<boolean> {
    if (performance.now() - this.#readAt > freshMs) await this.#read();
    return this.#known[part].size > 0;
  }

  has(part: Part, type: string): boolean {
    return this.#known[part].has(type);
  }

  /** Reads anew which schemas exist. */
  async refresh(): Promise<void> {
    // A read that is under way may miss the latest changes.
    await this.#reading?.catch(() => undefined);
    await this.#read();
  }

  async #read(): Promise<void> {
    this.#reading ??= this.#readKnown().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #readKnown(): Promise<void> {
    const askedAt = performance.now();
    const rows = await this.#database.call<{
      type: string;
      version: number;
      id: string;
      has_payload: boolean;
      has_result: boolean;
    }>(knownSchemas);
    const known = { payload: new Map<string, Version[]>(), result: new Map<string, Version[]>() };
    for (const { type, version, id, has_payload, has_result } of rows) {
      if (has_payload) push(known.payload, type, { id, version });
      if (has_result) push(known.result, type, { id, version });
    }
    this.#known = known;
    this.#readAt = askedAt;
  }

  /** Remembers the type of a lease that a claim gave. */
  recordLease(leaseId: string, type: string): void {
    if (this.#known.result.size > 0 || this.#isAskedOfLeases) this.#typesOfLeases.set(leaseId, type);
  }

  /** The type of each job; unknown jobs are left out. */
  typesOfJobs(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#typesOf(typesOfJobs, this.#typesOfJobs, ids);
  }

  /**
   * The type of each lease; unknown leases, and those of other tenants, are left out. If `isShown` rejects a cached type, its lease is read
   * again each time, like one that does not exist.
   */
  typesOfLeases(
    ids: readonly string[],
    tenant: string | null = null,
    isShown?: (type: string) => boolean,
  ): Promise<ReadonlyMap<string, string>> {
    this.#isAskedOfLeases = true;
    const { from, until } = namesOf(tenant);
    return this.#typesOf(typesOfLeases, this.#typesOfLeases, ids, isShown, [from, until]);
  }

  /** The types of the jobs that successes of each lease feed by mappings; unknown leases are left out. */
  fedTypesOfLeases(ids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.#typesOf(fedTypesOfLeases, this.#fedTypesOfLeases, ids);
  }

  async #typesOf<Type extends string | readonly string[]>(
    read: Statement,
    known: LRUCache<string, Type>,
    ids: readonly string[],
    isShown: (type: Type) => boolean = () => true,
    further: readonly (string | null)[] = [],
  ): Promise<ReadonlyMap<string, Type>> {
    const types = new Map<string, Type>();
    const missing = new Set<string>();
    for (const id of ids) {
      const type = known.get(id);
      if (type === undefined || !isShown(type)) missing.add(id);
      else types.set(id, type);
    }
    if (missing.size === 0) return types;
    const rows = await this.#database.call<{ id: string; type: Type }>(read, [...missing], ...further);
    for (const { id, type } of rows) {
      known.set(id, type);
      types.set(id, type);
    }
    return types;
  }

  /** The problem of each value; undefined if it has none. */
  async check(
    part: Part,
    values: readonly Checked[],
    maxWork = maxWorkOfCall,
  ): Promise<(InvalidInputError | undefined)[]> {
    const problems: (InvalidInputError | undefined)[] = [];
    let work = 0;
    let turnAt = performance.now();
    for (const value of values) {
      const versions = this.#known[part].get(value.type);
      if (versions === undefined) {
        problems.push(undefined);
        continue;
      }
      const validators = await this.#validatorsOf(part, versions);
      const cost = validators.reduce((sum, { validator }) => sum + validator.cost, 0);
      work += cost * value.length;
      if (work > maxWork)
        throw new InvalidInputError(
          `${value.field} and what comes before it are too much to be checked in one call: send several.`,
          value.field,
        );
      problems.push(judge(value, validators, cost));
      const tookMs = performance.now() - turnAt;
      if (tookMs < turnMs) continue;
      await delay(tookMs);
      turnAt = performance.now();
    }
    return problems;
  }

  /** @throws InvalidInputError for the first invalid value */
  async require(part: Part, values: readonly Checked[]): Promise<void> {
    for (const problem of await this.check(part, values)) if (problem !== undefined) throw problem;
  }

  async #validatorsOf(part: Part, versions: readonly Version[]) {
    const found: { version: number; validator: Validator }[] = [];
    for (const { id, version } of versions) {
      const validator = this.#validators.get(`${part} ${id}`) ?? (await this.#compileOnce(part, id));
      if (validator !== undefined) found.push({ version, validator });
    }
    return found;
  }

  /** For all that need it at the same time. */
  #compileOnce(part: Part, id: string): Promise<Validator | undefined> {
    const key = `${part} ${id}`;
    const one = this.#underWay.get(key) ?? this.#compile(part, id).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, one);
    return one;
  }

  async #compile(part: Part, id: string): Promise<Validator | undefined> {
    const [row] = await this.#database.call<Record<Part, unknown>>(readSchema, id);
    // The schema may just have been deleted.
    if (row == null) return undefined;
    // The module is loaded only if there are schemas.
    const { compileInTurn } = await import('./json-schema.ts');
    const validator = await compileInTurn(row[part], part);
    this.#validators.set(`${part} ${id}`, validator);
    return validator;
  }
}

function push(map: Map<string, Version[]>, type: string, version: Version): void {
  map.set(type, [...(map.get(type) ?? []), version]);
}

/** If a value matches no version, the error is that of the newest one. */
function judge(
  { type, field, value, length }: Checked,
  validators: readonly { version: number; validator: Validator }[],
  cost: number,
): InvalidInputError | undefined {
  const [newest] = validators;
  if (newest === undefined) return undefined;
  if (cost * length > maxSchemaWork) {
    return new InvalidInputError(
      `${field} is too large for the schema of ${withoutTenant(type)}: ${length} characters of JSON, where the schema, which costs ${cost}, allows ${Math.floor(maxSchemaWork / cost)}.`,
      field,
    );
  }
  const plain = toPlain(value ?? null);
  let first: InvalidInputError | undefined;
  for (const { version, validator } of validators) {
    const problem = validator.check(plain, field);
    if (problem === undefined) return undefined;
    first ??= new InvalidInputError(
      `${problem.path} ${problem.message} (version ${version} of ${withoutTenant(type)}).`,
      problem.path,
    );
  }
  return first;
}
