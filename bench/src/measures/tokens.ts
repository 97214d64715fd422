/** What watch tokens cost a server: a thousand different ones a second. */
import { setTimeout as delay } from 'node:timers/promises';
import { Database } from '../../../dist/db/database.js';
import { readWatchTokens, signWatchToken } from '../../../dist/domain/access/watch-tokens.js';
import { createLogger } from '../../../dist/server/log.js';
import { KnownWatchTokens } from '../../../dist/server/rights/known-watch-tokens.js';
import { type Bench, type Report, withJobtree } from '../bench.ts';
import { whole } from '../figures.ts';
import { atMost } from '../verdicts.ts';

const perSecond = 1_000;
const warmUp = 3;
/** In percent of a core. */
const mostShare = 5;

export async function measureTokens(bench: Bench): Promise<Report> {
  const seconds = Math.min(bench.options.seconds, 10);
  const figures = await withJobtree(bench, ({ database: { url } }) => show(url, seconds));
  const ms = figures.reduce((sum, one) => sum + one, 0) / figures.length;
  const most = Math.max(...figures);
  return {
    tables: [
      {
        title: `tokens: CPU for ${whole(perSecond)} different watch tokens, shown in a second, in ms (${seconds} seconds)`,
        columns: ['on average', 'at most'],
        rows: [[ms.toFixed(1), most.toFixed(1)]],
      },
    ],
    verdicts: [
      atMost({
        name: `tokens: ${whole(perSecond)} watch tokens a second, of a core`,
        limit: mostShare,
        found: ms / 10,
        unit: ' %',
      }),
    ],
    figures: { perSecond, ms, most },
  };
}

/** Returns the CPU time of each second, in milliseconds. */
async function show(url: string, seconds: number): Promise<number[]> {
  const database = new Database({
    url,
    poolSize: 2,
    timeoutMs: 10_000,
    preparedStatements: true,
    pooled: false,
    onIdleError: () => {},
  });
  await database.open(10_000);
  const tokens = new KnownWatchTokens({ database, logger: createLogger('warn') });
  await tokens.start();
  try {
    const { secrets, nowMs } = await readWatchTokens(database, 0n);
    const secret = secrets[0];
    if (secret === undefined) throw new Error('There is no secret.');
    let made = 0;
    const make = () => {
      const rootId = `0192f0c0-0000-7000-8000-${(made++).toString(16).padStart(12, '0')}`;
      const until = { issuedMs: nowMs, expiresMs: nowMs + 900_000 };
      return signWatchToken(secret, {
        rootId,
        tenant: null,
        sees: 'PROGRESS',
        secretId: secret.id,
        ...until,
      });
    };
    const figures: number[] = [];
    for (let second = 0; second < warmUp + seconds; second++) {
      const shown = Array.from({ length: perSecond }, make);
      await delay(1_000);
      const before = process.cpuUsage();
      for (const token of shown) await tokens.find(token, '127.0.0.1');
      const { user, system } = process.cpuUsage(before);
      figures.push((user + system) / 1_000);
    }
    return figures.slice(warmUp);
  } finally {
    await tokens.stop();
    await database.close();
  }
}
