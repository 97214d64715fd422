/** A migration makes functions anew while servers call them. */
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { useDatabase } from '../support/use-server.ts';

const db = useDatabase();

it.each(['call', 'read'])(
  'a %s that is about to use a function is repeated if a migration replaces the function',
  async (kind) => {
    const lock = await db.connect();
    const database = db.open();
    onTestFinished(async () => {
      await lock.end();
      await database.close();
    });
    await lock.query(`
      create or replace function jobtree.inner_part() returns text language plpgsql as $$ begin return 'old'; end $$;
      create or replace function jobtree.waiting_part() returns text language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(1);
        perform from jobtree.queue; -- notices what has changed meanwhile
        return '';
      end $$;
      create or replace function jobtree.outer_part() returns setof text language plpgsql as $$
      begin
        return query select jobtree.waiting_part() || jobtree.inner_part();
      end $$;
      select pg_advisory_lock(1);`);
    const answer =
      kind === 'call'
        ? database.call('outer_part')
        : database.pool.query({ text: 'select * from jobtree.outer_part()' }).then(({ rows }) => rows);
    await eventually(async () =>
      expect(
        await db.query(`select from pg_locks where locktype = 'advisory' and objid = 1 and not granted`),
      ).toHaveLength(1),
    );
    await lock.query(`
      drop function jobtree.inner_part;
      create function jobtree.inner_part(p_more text default null) returns text language plpgsql as $$ begin return 'new'; end $$;`);
    await lock.query('select pg_advisory_unlock(1)');
    expect(await answer).toEqual([{ outer_part: 'new' }]);
    await lock.query('drop function jobtree.inner_part');
  },
);
