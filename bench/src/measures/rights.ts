/**
 * What it costs when the server checks who calls and what they may do: claims and reports with a key whose scope is a pattern of
 * types, and minimal requests, against a server without authentication.
 */
import { Agent, request } from 'node:http';
import { alternate, type Bench, type Jobtree, type Report, withJobtree } from '../bench.ts';
import { cpu, median, medianRun, ratio, whole } from '../figures.ts';
import { inFlight } from '../in-flight.ts';
import { createKey } from '../keys.ts';
import { cpuMs } from '../usage.ts';
import { atLeast, atMost } from '../verdicts.ts';
import { runWork } from '../worked.ts';

const batch = 100;
const requests = 10_000;
const width = 8;
/** Single runs of requests differ by more than what a key costs. */
const runsPerRound = 5;

export async function measureRights(bench: Bench): Promise<Report> {
  const { options } = bench;
  return withJobtree(bench, (open) =>
    withJobtree(
      bench,
      async (asking) => {
        const token = await createKey(asking.database.url, {
          roles: ['producer', 'worker', 'watcher'],
          types: ['bench-*'],
        });
        const work = await withToken(token, () =>
          alternate(options, options.items, {
            open: (items) => runWork(bench, open, { items, batch, token }),
            asking: (items) => runWork(bench, asking, { items, batch, token }),
          }),
        );
        const small: Record<'open' | 'asking', number[]> = { open: [], asking: [] };
        // The first run warms up.
        for (let run = 0; run <= options.rounds * runsPerRound; run++) {
          small.open.push(await microsOfRequest(open, token));
          small.asking.push(await microsOfRequest(asking, token));
        }
        const micros = { open: median(small.open.slice(1)), asking: median(small.asking.slice(1)) };
        // Of runs side by side, since the machine's speed changes by more than what is measured.
        const ratios = work.asking.map((run, i) => run.perSecond / (work.open[i]?.perSecond ?? Number.NaN));
        const runs = { open: medianRun(work.open), asking: medianRun(work.asking) };
        const row = (name: string, which: 'open' | 'asking') => [
          name,
          whole(runs[which].perSecond),
          which === 'open' ? '1.00' : ratio(median(ratios)),
          cpu(runs[which]),
          micros[which].toFixed(0),
        ];
        return {
          tables: [
            {
              title: `rights: ${whole(options.items)} items claimed and reported in batches of ${batch}, and requests for next to nothing`,
              columns: ['', 'items per second', 'ratio', 'CPU of an item', 'CPU of a request'],
              rows: [row('nobody is asked', 'open'), row('a key with a scope', 'asking')],
              note: 'CPU: microseconds per item of worker + server + Postgres; per request of the server.',
            },
          ],
          verdicts: [
            atLeast({
              name: 'claims and reports with a key, against a server that asks nobody',
              limit: 0.97,
              found: median(ratios),
            }),
            atMost({
              name: 'what a key adds to a request',
              limit: 10,
              found: micros.asking - micros.open,
              unit: ' µs',
              digits: 1,
            }),
          ],
          figures: { work, small },
        };
      },
      { name: 'bench_rights', env: { JOBTREE_AUTH: 'keys' } },
    ),
  );
}

/** Sets the token in the environment, where everything that creates and reads jobs looks for it. */
async function withToken<T>(token: string, use: () => Promise<T>): Promise<T> {
  process.env.JOBTREE_TOKEN = token;
  try {
    return await use();
  } finally {
    delete process.env.JOBTREE_TOKEN;
  }
}

/** The server's CPU time for one of many requests, on connections that are kept alive. */
async function microsOfRequest({ server }: Jobtree, token: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: width });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const body = JSON.stringify({ query: '{ __typename }' });
  const before = cpuMs(server.pid) ?? Number.NaN;
  await inFlight(
    requests,
    width,
    () =>
      new Promise<void>((resolve, reject) => {
        request(server.url, { method: 'POST', agent, headers }, (response) => {
          if (response.statusCode !== 200) reject(new Error(`HTTP ${response.statusCode}`));
          response.resume().on('end', resolve);
        })
          .on('error', reject)
          .end(body);
      }),
  );
  const after = cpuMs(server.pid) ?? Number.NaN;
  agent.destroy();
  return ((after - before) * 1000) / requests;
}
