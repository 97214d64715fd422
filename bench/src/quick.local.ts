import { readdirSync, readFileSync } from 'node:fs';
import { type Bench, runChild, withJobtree } from './bench.ts';
import { closeAll } from './closers.ts';
import { createJob } from './jobtree.ts';
import { readOptions } from './options.ts';
import { startPostgres } from './postgres.ts';
import { runWork } from './worked.ts';

function family(pid: number) {
  const out = new Map<string, number>();
  for (const p of readdirSync('/proc')) {
    if (!/^\d+$/.test(p)) continue;
    try {
      const st = readFileSync(`/proc/${p}/stat`, 'utf8');
      const f = st.split(') ').at(-1)!.split(' ');
      if (Number(f[1]) !== pid && Number(p) !== pid) continue;
      const t = readFileSync(`/proc/${p}/cmdline`, 'utf8')
        .replace(/\0/g, ' ')
        .replace(/^postgres: /, '')
        .replace(/127.*/, '')
        .trim()
        .slice(0, 40);
      const key = t.startsWith('/') ? 'postmaster' : `${t} ${t.includes('jobtree') ? p : ''}`;
      out.set(key, (out.get(key) ?? 0) + (Number(f[11]) + Number(f[12])) * 10);
    } catch {}
  }
  return out;
}
const [, , courses = '1x1,1x10,100,500', rounds = '2', profiles, nodeArgs] = process.argv;
const options = { ...readOptions([]), profiles };
const postgres = await startPostgres();
const bench = { options, postgres, graphile: undefined, redisUrl: undefined } as unknown as Bench;
try {
  await withJobtree(bench, async (jobtree) => {
    if (process.env.FUNCS) {
      await jobtree.database.pool.query("alter system set track_functions = 'all'");
      await jobtree.database.pool.query('select pg_reload_conf()');
    }
    for (const course of courses.split(',')) {
      const add = course.startsWith('a');
      const c2 = process.env.CONC ? Number(process.env.CONC) : undefined;
      const fail = course.startsWith('f');
      const [b, c] = course.replace(/^[af]/, '').split('x').map(Number);
      const batch = b as number;
      const items = batch === 1 ? (c === 1 ? 2000 : 8000) : batch < 100 ? 20000 : 80000;
      for (let i = -1; i < Number(rounds); i++) {
        const n = i < 0 ? Math.max(batch, items / 4) : items;
        const before = family(postgres.pid);
        const st0 = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.split(/ +/).map(Number);
        if (process.env.FUNCS) await jobtree.database.pool.query('select pg_stat_reset()');
        const run = add
          ? await (async () => {
              const { id } = await createJob(jobtree.server.url);
              return runChild(
                bench,
                'jobtree-producer',
                { url: jobtree.server.url, target: id, items: n, batch, width: 4 },
                jobtree,
              );
            })()
          : await runWork(bench, jobtree, {
              items: n,
              batch,
              concurrency: batch === 1 ? c : c2,
              ...(fail && { failEvery: 20, policies: { maxFailuresPerItem: 3, backoffMs: [0] } }),
            } as never);
        if (i >= 0)
          console.log(
            course.padEnd(6),
            String(Math.round(run.perSecond)).padStart(7),
            '/s  cpu',
            JSON.stringify(run.cpuPerItem),
            'wal',
            Math.round(run.walPerItem),
          );
        {
          const st1 = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.split(/ +/).map(Number);
          const d = st1.map((v, k) => v - st0[k]!);
          const tot = d.slice(1, 9).reduce((a, b) => a + b, 0);
          if (i >= 0)
            console.log(
              '      user',
              (d[1]! / tot).toFixed(2),
              'sys',
              (d[3]! / tot).toFixed(2),
              'idle',
              (d[4]! / tot).toFixed(2),
              'iowait',
              (d[5]! / tot).toFixed(2),
              'irq',
              ((d[6]! + d[7]!) / tot).toFixed(2),
              'steal',
              (d[8]! / tot).toFixed(2),
            );
        }
        if (i >= 0 && process.env.FUNCS) {
          await new Promise((r) => setTimeout(r, 1500));
          const { rows } = await jobtree.database.pool.query(
            'select funcname, calls, self_time, total_time from pg_stat_user_functions order by self_time desc limit 22',
          );
          for (const r of rows)
            console.log(
              '     ',
              r.funcname.padEnd(22),
              'calls/1000',
              ((r.calls * 1000) / n).toFixed(1).padStart(8),
              'self µs/item',
              ((r.self_time * 1000) / n).toFixed(2).padStart(8),
              'total',
              ((r.total_time * 1000) / n).toFixed(2),
              'µs/call',
              ((r.total_time * 1000) / r.calls).toFixed(0),
            );
        }
        if (i >= 0 && process.env.FAMILY) {
          const after = family(postgres.pid);
          for (const [k, v] of after) {
            const d = ((v - (before.get(k) ?? 0)) * 1000) / n;
            if (d > 0.2) console.log('     ', k.padEnd(50), d.toFixed(1));
          }
        }
      }
    }
  });
} finally {
  await closeAll();
}
process.exit();
