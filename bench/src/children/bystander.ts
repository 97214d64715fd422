/** Updates random rows of its own table again and again, as another application in the same database would. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { readTask, serve } from '../child.ts';
import type { BystanderTask } from '../task.ts';

const rowCount = 1_000;
const everyMs = 5;

const { databaseUrl } = readTask<BystanderTask>();
const client = new pg.Client({ connectionString: databaseUrl });
await client.connect();
await client.query(`
  drop table if exists bystander;
  create table bystander (id integer primary key, value bigint not null);
  insert into bystander select i, 0 from generate_series(1, ${rowCount}) i`);
let stopped = false;
let updates = 0;
let totalMs = 0;

async function update(): Promise<void> {
  await client.query({
    name: 'update',
    text: 'update bystander set value = value + 1 where id = $1',
    values: [1 + Math.floor(Math.random() * rowCount)],
  });
}

/** Does not make up for late updates. */
async function loop(): Promise<void> {
  let due = performance.now();
  while (!stopped) {
    due = Math.max(due + everyMs, performance.now());
    await delay(due - performance.now());
    const start = performance.now();
    await update();
    totalMs += performance.now() - start;
    updates++;
  }
}

let loops: Promise<void> | undefined;

const methods = {
  start: (): void => {
    loops = loop();
  },

  /** Ends the updates, and returns how many there were and how long they took on average. */
  finish: async (): Promise<{ updates: number; meanMs: number }> => {
    stopped = true;
    await loops;
    return { updates, meanMs: totalMs / updates };
  },
};

export type BystanderMethods = typeof methods;

serve(methods);
