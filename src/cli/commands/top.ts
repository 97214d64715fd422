/** `jobtree top`: what is done of each type, drawn anew until Ctrl-C; without a terminal, a table each time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { QueueFigures } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, duration } from '../figures.ts';
import { catchInterruption, type Interruption } from '../interruption.ts';
import { typesWithoutWorker } from '../standstills.ts';
import { type Cell, type Column, terminalWidth, toLines } from '../table.ts';
import { shorten } from '../width.ts';

export interface TopOptions extends ApiOptions {
  readonly once?: true;
  readonly interval: number;
  readonly minutes: number;
}

/** To the start of the screen; what is left of the one before is cleared line by line, so that nothing flickers. */
const home = '\x1b[H';
const clearLine = '\x1b[K';
const clearRest = '\x1b[J';
const ownScreen = ['\x1b[?1049h\x1b[?25l', '\x1b[?25h\x1b[?1049l'] as const;
const usualRows = 24;

export async function top(
  options: TopOptions,
  interruption: Interruption = catchInterruption(),
): Promise<number> {
  const { signal } = interruption;
  const out = process.stdout;
  const isScreen = out.isTTY === true && !options.once && !options.json;
  try {
    return await withClient(options, async (client) => {
      for (let isFirst = true; ; isFirst = false) {
        const figures = await client.queues.figures({ lastMinutes: options.minutes, signal });
        const waiting = options.json ? [] : figures.filter(({ ready }) => ready > 0).map(({ type }) => type);
        const withoutWorker = await typesWithoutWorker(client, waiting, signal);
        signal.throwIfAborted();
        if (isFirst && isScreen) out.write(ownScreen[0]);
        if (options.json) for (const queue of figures) out.write(`${JSON.stringify(queue)}\n`);
        else if (isScreen)
          out.write(toScreen(describe(figures, withoutWorker, options), out.rows || usualRows));
        else out.write(`${describe(figures, withoutWorker, options).join('\n')}\n`);
        if (options.once) return exitCodes.success;
        await delay(options.interval, undefined, { signal });
        if (!isScreen && !options.json) out.write('\n');
      }
    });
  } catch (error) {
    if (signal.aborted) return interruption.exitCode;
    throw error;
  } finally {
    if (isScreen) out.write(ownScreen[1]);
  }
}

function toScreen(lines: readonly string[], rows: number): string {
  const shown =
    lines.length <= rows ? lines : [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} more`];
  return `${home}${shown.map((line) => line + clearLine).join('\r\n')}${clearRest}`;
}

const columns: readonly Column[] = [
  { title: 'TYPE', cut: 'middle' },
  { title: 'READY', align: 'right' },
  { title: 'OLDEST', align: 'right' },
  { title: 'RUN', align: 'right' },
  { title: 'SLOW', align: 'right', spare: true },
  { title: 'RATE/S', align: 'right' },
  { title: 'WAIT p95', align: 'right', spare: true },
  { title: 'TIME p95', align: 'right', spare: true },
  { title: 'FAILED', align: 'right' },
  { title: 'DEAD', align: 'right', spare: true },
];

function describe(
  queues: readonly QueueFigures[],
  withoutWorker: ReadonlySet<string>,
  { minutes }: TopOptions,
): string[] {
  // What has most to do comes first.
  const sorted = [...queues].sort(
    (a, b) => b.figures.perSecond - a.figures.perSecond || b.ready - a.ready || a.type.localeCompare(b.type),
  );
  const since = minutes === 1 ? 'minute' : `${minutes} minutes`;
  const rows = sorted.map((queue) => toCells(queue, withoutWorker.has(queue.type)));
  const title = shorten(`rates, times and failures of the last ${since}`, terminalWidth(), 'end');
  return [title, ...toLines(columns, rows).flatMap((row) => row.split('\n'))];
}

function toCells(queue: QueueFigures, isWithoutWorker: boolean): Cell[] {
  const { type, ready, oldestReadyMs, running, slow, paused, figures } = queue;
  const waiting = paused ? `(${short(ready)})` : short(ready);
  return [
    type,
    isWithoutWorker ? { text: `${waiting}!`, colour: 'yellow' } : waiting,
    time(oldestReadyMs),
    short(running),
    short(slow),
    figures.perSecond < 10 ? figures.perSecond.toFixed(1) : short(Math.round(figures.perSecond)),
    time(figures.wait.p95Ms),
    time(figures.processing.p95Ms),
    { text: short(figures.failed), colour: figures.failed > 0 ? 'red' : undefined },
    { text: short(figures.dead), colour: figures.dead > 0 ? 'red' : undefined },
  ];
}

function short(n: number): string {
  if (n < 100_000) return count(n);
  return n < 10_000_000 ? `${count(Math.round(n / 1_000))}k` : `${count(Math.round(n / 1_000_000))}M`;
}

function time(ms: number | null | undefined): string {
  if (ms == null) return '-';
  if (ms < 1_000) return `${ms}ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)}s`;
  const unit = ms < 3_600_000 ? 60_000 : 3_600_000;
  return duration(Math.round(ms / unit) * unit);
}
