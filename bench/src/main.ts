/**
 * `npm run bench`: starts all it needs, measures jobtree beside graphile-worker, prints tables, and leaves nothing behind. It
 * runs all measures, and exits with 1 if a target was missed.
 */
import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { runMigrations } from 'graphile-worker';
import type { Bench, Report } from './bench.ts';
import { closeAll, closeOnSignals, interruption } from './closers.ts';
import { print } from './figures.ts';
import { silent } from './graphile.ts';
import { measureAdd } from './measures/add.ts';
import { measureCancel } from './measures/cancel.ts';
import { measureDashboard } from './measures/dashboard.ts';
import { measureDeadRows } from './measures/dead-rows.ts';
import { measureFailures } from './measures/failures.ts';
import { measureFairAdds } from './measures/fair-adds.ts';
import { measureFairness } from './measures/fairness.ts';
import { measureFanout } from './measures/fanout.ts';
import { measureFed } from './measures/fed.ts';
import { measureGrowth } from './measures/growth.ts';
import { measureHeartbeats } from './measures/heartbeats.ts';
import { measureHistory } from './measures/history.ts';
import { measureIdle } from './measures/idle.ts';
import { measureIdleClaims } from './measures/idle-claims.ts';
import { measureImport } from './measures/import.ts';
import { measureJobs } from './measures/jobs.ts';
import { measureLatency } from './measures/latency.ts';
import { measureLimits } from './measures/limits.ts';
import { measureMemory } from './measures/memory.ts';
import { measureNotify } from './measures/notify.ts';
import { measureOverload } from './measures/overload.ts';
import { measurePriorities } from './measures/priorities.ts';
import { measureReplay } from './measures/replay.ts';
import { measureRetention } from './measures/retention.ts';
import { measureRights } from './measures/rights.ts';
import { measureSerialize } from './measures/serialize.ts';
import { measureSlow } from './measures/slow.ts';
import { measureSnapshot } from './measures/snapshot.ts';
import { measureTokens } from './measures/tokens.ts';
import { measureWake } from './measures/wake.ts';
import { measureWatched } from './measures/watched.ts';
import { measureWork } from './measures/work.ts';
import { type Measure, measures, type Options, readOptions, usage } from './options.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { startRedis } from './redis.ts';

const run: Record<Measure, (bench: Bench) => Promise<Report>> = {
  add: measureAdd,
  work: measureWork,
  jobs: measureJobs,
  failures: measureFailures,
  fed: measureFed,
  'dead-rows': measureDeadRows,
  snapshot: measureSnapshot,
  history: measureHistory,
  growth: measureGrowth,
  cancel: measureCancel,
  replay: measureReplay,
  retention: measureRetention,
  heartbeats: measureHeartbeats,
  priorities: measurePriorities,
  limits: measureLimits,
  fairness: measureFairness,
  'fair-adds': measureFairAdds,
  overload: measureOverload,
  rights: measureRights,
  serialize: measureSerialize,
  memory: measureMemory,
  import: measureImport,
  latency: measureLatency,
  fanout: measureFanout,
  idle: measureIdle,
  'idle-claims': measureIdleClaims,
  watched: measureWatched,
  tokens: measureTokens,
  wake: measureWake,
  notify: measureNotify,
  slow: measureSlow,
  dashboard: measureDashboard,
};

const options = parse();
closeOnSignals();
try {
  const postgres = await startPostgres(options.postgres);
  const machine = describe(postgres);
  console.log(`${machine.processors} × ${machine.model}, Node ${machine.node}, Postgres ${machine.postgres}`);
  const bench = await prepare(options, postgres);
  const reports: Partial<Record<Measure, Report>> = {};
  for (const measure of measures.filter((one) => options.only.has(one))) {
    const report = await run[measure](bench).catch((error) => failed(measure, error));
    reports[measure] = report;
    for (const table of report.tables) print(table);
  }
  const verdicts = Object.values(reports).flatMap((report) => report.verdicts);
  print({
    title: 'targets',
    columns: ['', 'found', ''],
    rows: verdicts.map(({ target, found, met }) => [target, found, met ? 'met' : 'MISSED']),
  });
  if (!verdicts.every(({ met }) => met)) process.exitCode = 1;
  if (options.json !== undefined) {
    const figures = Object.fromEntries(
      Object.entries(reports).map(([name, report]) => [name, report.figures]),
    );
    await writeFile(options.json, `${JSON.stringify({ machine, figures, verdicts }, null, 2)}\n`);
  }
} catch (error) {
  if (interruption.exitCode === undefined) console.error(error);
  process.exitCode = interruption.exitCode ?? 1;
} finally {
  await closeAll();
}
process.exit();

/** Reports a failed measure as a missed target, so that the others still run. */
function failed(measure: Measure, error: unknown): Report {
  if (interruption.exitCode !== undefined) throw error;
  console.error(error);
  const found = String(error);
  return {
    tables: [],
    verdicts: [{ target: `${measure}: runs to its end`, found, met: false }],
    figures: { error: found },
  };
}

function parse(): Options {
  if (process.argv.includes('--help')) {
    console.log(usage);
    process.exit();
  }
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

async function prepare(options: Options, postgres: Postgres): Promise<Bench> {
  const graphile = await postgres.createDatabase('bench_graphile');
  await runMigrations({ connectionString: graphile.url, logger: silent });
  const redisUrl = options.redis ? (await startRedis(postgres.directory)).url : undefined;
  return { options, postgres, graphile, redisUrl };
}

function describe({ version, settings }: Postgres) {
  return {
    processors: availableParallelism(),
    model: cpus()[0]?.model.trim() ?? 'unknown',
    node: process.version,
    postgres: version,
    settings,
    at: new Date().toISOString(),
  };
}
