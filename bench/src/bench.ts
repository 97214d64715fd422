/** What the measures share: one Postgres with a database for graphile-worker, and a new database for jobtree whenever a measure asks for one. */
import { startChild } from './child.ts';
import { type Run, type Table, toRun, type Used } from './figures.ts';
import type { Options } from './options.ts';
import type { Database, Postgres } from './postgres.ts';
import { type Server, startServer } from './server.ts';
import { cpuMs, familyCpuMs } from './usage.ts';
import type { Verdict } from './verdicts.ts';

export interface Bench {
  readonly options: Options;
  readonly postgres: Postgres;
  readonly graphile: Database;
  /** For servers that are to use Redis. */
  readonly redisUrl: string | undefined;
}

/** A jobtree server and its database. */
export interface Jobtree {
  readonly database: Database;
  readonly server: Server;
}

/** Runs a new server on a new database for the time of a measurement. Two at a time need different names. */
export async function withJobtree<T>(
  { options, postgres, redisUrl }: Omit<Bench, 'graphile'>,
  use: (jobtree: Jobtree) => Promise<T>,
  {
    name = 'bench_jobtree',
    nodeArgs = [],
    env = {},
  }: { name?: string; nodeArgs?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<T> {
  const database = await postgres.createDatabase(name);
  const profiling = options.profiles === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', options.profiles];
  const server = await startServer(database.url, { redisUrl, env, nodeArgs: [...profiling, ...nodeArgs] });
  try {
    return await use({ database, server });
  } finally {
    await server.stop();
    await database.drop();
  }
}

/** The outcome of a measure, for people and for programs. */
export interface Report {
  readonly tables: readonly Table[];
  readonly verdicts: readonly Verdict[];
  readonly figures: unknown;
}

/** Runs a child to its end, and adds what Postgres and the server, if there is one, used meanwhile. */
export async function runChild(
  { postgres }: Pick<Bench, 'postgres'>,
  name: string,
  task: object,
  { database, server }: { readonly database: Database; readonly server?: Server },
): Promise<Run> {
  await database.settle();
  const used = await startMeter(postgres, server);
  const outcome = await startChild(name, task).outcome;
  return toRun(outcome, await used());
}

/** Starts to measure what Postgres and a server use; the function that it returns tells the usage since then. */
export async function startMeter(postgres: Postgres, server?: Server): Promise<() => Promise<Used>> {
  const read = async (): Promise<Used> => ({
    serverMs: server && cpuMs(server.pid),
    postgresMs: familyCpuMs(postgres.pid),
    walBytes: await postgres.walBytes(),
  });
  const before = await read();
  return async () => {
    const after = await read();
    return {
      serverMs: difference(after.serverMs, before.serverMs),
      postgresMs: difference(after.postgresMs, before.postgresMs),
      walBytes: after.walBytes - before.walBytes,
    };
  };
}

function difference(after: number | undefined, before: number | undefined): number | undefined {
  return after === undefined || before === undefined ? undefined : after - before;
}

/** Gives small batches fewer items, so that they take no longer than large ones. */
export function itemsFor(items: number, batch: number): number {
  const share = batch === 1 ? 0.03 : batch < 100 ? 0.2 : 1;
  return Math.max(1, Math.floor((items * share) / batch)) * batch;
}

/**
 * How long each contender runs before its results count. A server that has just started takes twice as long for a call until V8
 * has compiled what is hot, and no server in production runs for only seconds.
 */
const warmUpMs = 10_000;

/** Runs the contenders several times, in alternating order, since the machine may have other things to do. */
export async function alternate<Name extends string>(
  { rounds }: Pick<Options, 'rounds'>,
  items: number,
  contenders: Readonly<Record<Name, (items: number) => Promise<Run>>>,
): Promise<Record<Name, Run[]>> {
  const names = Object.keys(contenders) as Name[];
  for (const name of names) {
    const until = performance.now() + warmUpMs;
    do await contenders[name](items);
    while (performance.now() < until);
  }
  const runs = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Run[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      runs[name].push(await contenders[name](items));
    }
  }
  return runs;
}
