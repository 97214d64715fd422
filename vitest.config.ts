import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { Flaky } from './test/support/flaky.ts';
import { NoSkips } from './test/support/no-skips.ts';

/** Each in a process that did nothing before: what counts the memory, timers or calls of its process, and what loads little. */
const alone = [
  'test/embedded/**/*.test.ts',
  'test/server/{leaks,limits,memory}.test.ts',
  'test/events/lost-messages.test.ts',
  'test/schema/query-counts.test.ts',
  'test/layout/**/*.test.ts',
];

/**
 * Processes that are killed, commands that run on, clients that are hostile, browsers and other programs around, files and tables that are large: they take
 * long, and have a command of their own.
 */
const faults = [
  'test/{conformance,crash,deploy,e2e,packages,releases,tools}/**/*.test.ts',
  'test/adapters/kills.test.ts',
  'test/events/{transport,redis-faults,redis-kinds,relay-processes}.test.ts',
  'test/server/{health,hostile*,object-store,overload}.test.ts',
  'test/cli/{api-keys,canaries-left,documentation,encryption,processes,schedule}.test.ts',
  'test/client/{documented-watchers,outage}.test.ts',
  'test/domain/{jobs/job-list-costs,claims/lease-costs}.test.ts',
  'test/schema/foreign-rows.test.ts',
  'test/server/{file-imports,storage-limits,tenants-together,uploads}.test.ts',
  'test/cli/{dead-letters,demo,doctor,import,import-upload,output,parent,watch,work}.test.ts',
  'test/db/migrate.test.ts',
];

/**
 * What takes longest begins first, so that nothing runs alone at the end: one that works, and some that mostly wait. Without this the
 * largest files would, and these are small.
 */
const first = [
  'server/hostile.test.ts',
  'events/transport.test.ts',
  'events/relay-processes.test.ts',
  'events/redis-faults.test.ts',
  'cli/processes.test.ts',
  'crash/live.test.ts',
  'server/hostile-bytes.test.ts',
  'cli/import-upload.test.ts',
  'cli/watch.test.ts',
  'cli/doctor.test.ts',
  'cli/work.test.ts',
  'server/storage-limits.test.ts',
  'server/tenants-together.test.ts',
  'client/run.test.ts',
  'cli/api-keys.test.ts',
  'cli/start.test.ts',
  'client/documented-watchers.test.ts',
  'cli/documentation.test.ts',
  'cli/workers.test.ts',
  'cli/parent.test.ts',
  'cli/output.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const turn = ({ moduleId }: TestSpecification) => {
      const index = first.findIndex((name) => moduleId.endsWith(`/test/${name}`));
      return index < 0 ? first.length : index;
    };
    return (await super.sort(files)).toSorted((a, b) => turn(a) - turn(b));
  }
}

const shared = {
  // One copy of graphql, the one that Node gives its dependants: Vite would take the module build for our files.
  resolve: { alias: { graphql: createRequire(import.meta.url).resolve('graphql') } },
  test: {
    // npm sets it to production where it omits development dependencies (.npmrc).
    env: { NODE_ENV: 'test' },
    // What is waited for comes within a moment, or never: so the patience is for machines that are slow or busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
  },
};

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', new NoSkips(), new Flaky()],
    // Many tests wait, for servers that are away or silent: so there is work for more of them than a small machine has cores.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      // Most files share their processes with others: loading the server takes each process more than a second.
      {
        ...shared,
        test: {
          ...shared.test,
          name: 'shared',
          isolate: false,
          restoreMocks: true,
          include: ['test/**/*.test.ts'],
          exclude: [...alone, ...faults, 'test/failover/**'],
        },
      },
      {
        ...shared,
        test: { ...shared.test, name: 'faults', isolate: false, restoreMocks: true, include: faults },
      },
      { ...shared, test: { ...shared.test, name: 'alone', include: alone } },
      // Wants root and programs that other tests do not.
      { ...shared, test: { ...shared.test, name: 'failover', include: ['test/failover/**/*.test.ts'] } },
    ],
  },
});
