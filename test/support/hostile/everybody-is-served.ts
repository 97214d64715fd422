/**
 * Hostile requests, one kind after the other, against one running server, while ten workers work and others watch them: it lives,
 * its memory stays bounded, no assignment is lost, and whoever watches is told. What each attack did to others is printed.
 *
 * They come from a stranger, and from callers with each role, narrow ones too: what one may not ask for is refused, and what it may is
 * answered as from anybody. What takes long comes from an admin and one of the others, by turns.
 *
 * HOSTILE=long runs more copies of each attack, for longer, and each in every role; HOSTILE_SECONDS says how long each copy goes on, HOSTILE_WATCHERS
 * how many watch, HOSTILE_ONLY which attacks run (a regular expression), HOSTILE_ROLES in which roles (the same), HOSTILE_ADDRESSES=many lets each
 * request come from an address of its own.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../database.ts';
import { makeKey } from '../keys.ts';
import { type ServerProcess, startServer, startServerProcess } from '../server.ts';
import { Attacker, prepareTarget, type Target } from './attacker.ts';
import type { Attack } from './attacks.ts';
import type { Question, Sight } from './bystanders.ts';
import { isLong, makeTokens, type RoleName, roleNames, rolesInTurn, type Tokens } from './roles.ts';

const watcherCount = Number(process.env.HOSTILE_WATCHERS ?? (isLong ? 100 : 10));
const only = new RegExp(process.env.HOSTILE_ONLY ?? '');
const mostMb = 600;
/** In the long form, on a machine with nothing else to do: so long may 99 of 100 small questions of others take. */
const mostP99Ms = 200;
const timeoutMs = isLong ? 600_000 : 120_000;
const script = fileURLToPath(new URL('./bystanders.ts', import.meta.url));
const blocksScript = new URL('./blocks.mjs', import.meta.url).href;
/** A stranger gets no socket, which is as good as a refusal of whatever it would do with it. */
function isNoSocket(error: unknown): boolean {
  return error instanceof Error && error.message.includes('closed with 4403');
}

function answerOf(child: ChildProcess): Promise<any> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('The bystanders are gone.'));
    child.once('exit', gone);
    child.once('message', ({ answer }: { answer: unknown }) => {
      child.off('exit', gone);
      resolve(answer);
    });
  });
}

const percentile = (sorted: readonly number[], share: number) =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);

export interface Options {
  /** Whether an attack is over as soon as it is answered, so that all roles can do it. */
  readonly isShort?: (attack: Attack) => boolean;
  /** Who attacks; by default all, by turns. */
  readonly roles?: readonly RoleName[];
  /** For the process of the server. */
  readonly nodeOptions?: string;
  /** Puts more into the database. */
  readonly prepare?: (db: TestDatabase) => Promise<void>;
}

/** Declares the tests. */
export function everybodyIsServed(
  attacks: readonly Attack[],
  { isShort = () => true, roles: attackers, nodeOptions = '', prepare }: Options = {},
): void {
  const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  const blocksFile = join(folder, 'blocks');

  let db: TestDatabase;
  let server: ServerProcess;
  let target: Target;
  let tokens: Tokens;
  let bystanders: ChildProcess;
  const table: Record<string, unknown>[] = [];

  beforeAll(async () => {
    db = await createDatabase();
    // What is stored is put there while nobody is asked.
    const open = await startServer(db.url);
    const prepared = await prepareTarget(open.url, db);
    await open.close();
    await prepare?.(db);
    server = await startServerProcess(db.url, {
      JOBTREE_AUTH: 'keys',
      JOBTREE_TRUSTED_PROXIES: '1',
      JOBTREE_LOG_LEVEL: 'error',
      NODE_OPTIONS: `--import ${blocksScript} ${nodeOptions}`,
      BLOCKS: blocksFile,
    });
    target = { ...prepared, url: server.url };
    tokens = await makeTokens(db, server.url, { id: target.wide, type: 'wide' });
    const { key } = await makeKey(db, ['admin']);
    bystanders = fork(script, [server.url, String(watcherCount)], {
      execArgv: ['--import', 'tsx'],
      env: { ...process.env, JOBTREE_TOKEN: key },
    });
    await answerOf(bystanders);
  });
  afterAll(async () => {
    console.table(table);
    if (bystanders.connected) {
      const ended = once(bystanders, 'exit');
      bystanders.send('stop' satisfies Question);
      await ended;
    }
    const status = await server.end();
    await db.drop();
    rmSync(folder, { recursive: true });
    expect(status, server.output()).toBe(0);
  });

  function ask(question: Question): Promise<any> {
    const answer = answerOf(bystanders);
    bystanders.send(question);
    return answer;
  }

  /** The most memory that the server's process had since this was last asked, in megabytes. Only Linux tells. */
  function peakMb(): number {
    if (process.platform !== 'linux') return 0;
    const folder = `/proc/${server.process.pid}`;
    const [, kb] = /VmHWM:\s+(\d+)/.exec(readFileSync(`${folder}/status`, 'utf8')) ?? [];
    writeFileSync(`${folder}/clear_refs`, '5');
    return Math.round(Number(kb) / 1_000);
  }

  /** The longest time for which the server's event loop was blocked since this was last asked, in milliseconds. */
  function longestBlock(): number {
    const blocks = readFileSync(blocksFile, { encoding: 'utf8', flag: 'a+' });
    writeFileSync(blocksFile, '');
    return Math.max(0, ...blocks.split('\n').map(Number));
  }

  describe('everybody else is served', () => {
    const cases = attacks
      .filter(({ title }) => only.test(title))
      .map((attack, turn) => ({
        ...attack,
        roles: attackers ?? rolesInTurn(turn, { all: isLong || isShort(attack) }),
      }));
    // In the long form it takes a while: what a server that has just started does slowly is nobody's attack.
    const nothing = {
      title: 'nothing',
      run: async (attacker: Attacker) => {
        if (isLong) await attacker.hold();
      },
      roles: (attackers ?? roleNames).slice(0, 1),
    };
    it.each([nothing, ...cases])(
      'during $title',
      async ({ title, run, roles }) => {
        await ask('what was seen');
        peakMb();
        longestBlock();
        const [{ now } = {}] = await db.query<{ now: Date }>('select clock_timestamp() as now');
        const startedAt = performance.now();
        for (const name of roles) {
          const attacker = new Attacker(target, {
            role: { name, token: tokens[name] },
            isLong,
            fromManyAddresses: process.env.HOSTILE_ADDRESSES === 'many',
          });
          try {
            await run(attacker);
          } catch (error) {
            if (!(attacker.isStranger && isNoSocket(error)))
              throw new Error(`It came from: ${name}.`, { cause: error });
          } finally {
            attacker.leave();
          }
        }
        const attackMs = Math.round(performance.now() - startedAt);
        await ask('does everybody go on');
        const { answerMs, refused, problems }: Sight = await ask('what was seen');
        const sorted = answerMs.toSorted((a, b) => a - b);
        const mb = peakMb();
        table.push({
          attack: title,
          from: roles.length === roleNames.length ? 'all' : roles.join(', '),
          ms: attackMs,
          asked: sorted.length,
          p50: percentile(sorted, 0.5),
          p99: percentile(sorted, 0.99),
          slowest: percentile(sorted, 1),
          blocked: longestBlock(),
          refused,
          MB: mb,
          problems: [...new Set(problems)].join('; ').slice(0, 60),
        });
        expect(server.process.exitCode, server.output()).toBeNull();
        expect(server.process.signalCode).toBeNull();
        expect(mb).toBeLessThan(mostMb);
        if (isLong) expect(percentile(sorted, 0.99)).toBeLessThanOrEqual(mostP99Ms);
        expect(
          await db.query(
            `select failure.* from jobtree.failure join jobtree.job on job.id = job_id where type in ('short', 'long') and at >= $1`,
            [now],
          ),
        ).toEqual([]);
      },
      timeoutMs,
    );
  });
}
