/** A limit that changes in one place changes in all: these tests name the others. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildSchema, isInputObjectType } from 'graphql';
import { expect, it } from 'vitest';
import * as client from '../../src/client/limits.ts';
import * as limits from '../../src/domain/values/limits.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const body = (name: string) => read(`prisma/functions/${name}.sql`);

/** Where a function of the database has a limit: the number is in parentheses. */
const inSql: Readonly<Record<string, readonly [limit: number, ...places: readonly [string, RegExp][]]>> = {
  maxNameLength: [limits.maxNameLength, ['values/value_problem', /'type', 'name',.*then (\d+)/]],
  maxDedupeKeyLength: [limits.maxDedupeKeyLength, ['values/value_problem', /'dedupeKey' then (\d+)/]],
  maxSerializeKeyLength: [
    limits.maxSerializeKeyLength,
    ['values/value_problem', /'serializeKey' then (\d+)/],
    ['items/check_items', /is_name\(v\.value ->> 'serializeKey', (\d+)\)/],
    ['jobs/create_jobs', /is_name\(i\.value ->> 'serializeKey', (\d+)\)/],
    ['feeds/feed_problem', /not between 1 and (\d+)/],
    ['feeds/lock_fed', /is_name\(f\.key, (\d+)\)/],
  ],
  maxFailureTextLength: [
    limits.maxFailureTextLength,
    ['values/value_problem', /'message' then (\d+)/],
    ['reports/report_problem', /'\{failure,message\}'\) <= (\d+)/],
  ],
  maxStackLength: [
    limits.maxStackLength,
    ['values/value_problem', /'stack' then (\d+)/],
    ['reports/report_problem', /\{failure,stack\}'\), 0\) <= (\d+)/],
  ],
  maxJsonDepth: [
    limits.maxJsonDepth,
    ['values/is_too_deep', /p_most integer default (\d+)/],
    ['items/check_items', /more than (\d+) levels/],
    ['items/update_item', /more than (\d+) levels/],
    ['reports/report_problem', /more than (\d+) levels/],
    ['feeds/feed_problem', /more than (\d+) levels/],
  ],
  maxTreeDepth: [
    limits.maxTreeDepth,
    ['jobs/check_job', /cardinality\(p_path\) > (\d+)/],
    ['jobs/check_job', /more than (\d+) levels/],
    ['jobs/tree_nodes', /<= (\d+)/],
  ],
  maxTreeJobs: [limits.maxTreeJobs, ['jobs/check_job', /jobs > (\d+)/]],
  maxBatch: [limits.maxBatch, ['feeds/feed_problem', /the limit is (\d+)\./]],
  maxClaimBytes: [limits.maxClaimBytes, ['claims/pick_entries', /entry\.bytes > (\d{2,})/]],
  maxFeedBytes: [limits.maxFeedBytes, ['feeds/is_feed', /length\(p_feed::text\) <= (\d+)/]],
  maxLogLines: [limits.maxLogLines, ['items/note_items', /limit (\d+)/]],
  maxCallbacks: [
    limits.maxCallbacks,
    ['callbacks/add_callbacks', /\(p_callbacks\) > (\d+)/],
    ['callbacks/add_callbacks', /more than (\d+) callbacks/],
  ],
};

it.each(Object.entries(inSql))('%s is the same in the database', (_, [limit, ...places]) => {
  const found = places.map(([name, place]) => [name, Number(place.exec(body(name))?.[1])]);
  expect(found).toEqual(places.map(([name]) => [name, limit]));
});

const rangesInSql = new Map(
  [...body('values/value_problem').matchAll(/when '([\w.[\]]+)' then numrange '\[(-?\d+),(-?\d+)\]'/g)].map(
    ([, key = '', from, to]) => [key, [Number(from), Number(to)]],
  ),
);

it('ranges are the same in the database', () => {
  expect(rangesInSql.get('priority')).toEqual(limits.priorityRange);
  expect(rangesInSql.get('retryAfterMs')).toEqual(limits.retryAfterMsRange);
  expect(rangesInSql.get('snoozeMs')).toEqual(limits.snoozeMsRange);
});

it('the client sends what the server takes', () => {
  expect(client.maxEntries).toBe(limits.maxBatch);
  expect(client.maxItemsOfCreation).toBe(limits.maxCreatedItems);
});

const lengths = {
  type: limits.maxNameLength,
  dedupeKey: limits.maxDedupeKeyLength,
  serializeKey: limits.maxSerializeKeyLength,
};
/** Fields that only share their names with settings: of claims, alerts and workers. */
const others = new Set([
  'ClaimRequestInput.limit',
  'DeadLetterAlertInput.intervalMs',
  'WorkerInput.concurrency',
]);
const inputs = Object.values(buildSchema(read('schema.graphql')).getTypeMap())
  .filter(isInputObjectType)
  .flatMap((type) =>
    Object.values(type.getFields()).map((field) => ({ at: `${type.name}.${field.name}`, field })),
  )
  .filter(({ at }) => !others.has(at));

it('every input describes the range of its numbers', () => {
  const wrong = inputs.filter(({ field }) => {
    const range = rangesInSql.get(field.name) ?? rangesInSql.get(`${field.name}[]`);
    const shown = range?.map((end) => end.toLocaleString('en-US')).join(' to ');
    return shown !== undefined && !field.description?.replaceAll(/ \([^)]*\)/g, '').includes(shown);
  });
  expect(wrong.map(({ at, field }) => `${at}: ${field.description}`)).toEqual([]);
});

it('every input describes the length of its names and keys', () => {
  const wrong = inputs.filter(({ field }) => {
    const longest = lengths[field.name as keyof typeof lengths];
    return longest !== undefined && !field.description?.includes(`1 to ${longest} characters`);
  });
  expect(wrong.map(({ at, field }) => `${at}: ${field.description}`)).toEqual([]);
});
