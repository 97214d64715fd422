/** `jobtree top`: what is done of each type, drawn anew until Ctrl-C; without a terminal, a table each time. */
import { setTimeout as delay } from 'node:timers/promises';
import { JobtreeError, type QueueFigures } from '../../client/index.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, duration } from '../figures.ts';
import { catchInterruption, type Interruption } from '../interruption.ts';
import { print, visible } from '../output.ts';
import { typesWithoutWorker } from '../standstills.ts';
import { type Cell, type Column, terminalWidth, toLines } from '../table.ts';
import { wrap } from '../width.ts';

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
const rowsOf = (stream: NodeJS.WriteStream) => stream.rows || 24;

export async function top(
  options: TopOptions,
  interruption: Interruption = catchInterruption(),
): Promise<number> {
  const { signal } = interruption;
  const out = process.stdout;
  const isScreen = out.isTTY === true && !options.once && !options.json;
  try {
    return await withClient(options, async (client) => {
      let shown: View | undefined;
      for (;;) {
        const figures = await client.queues
          .figures({ lastMinutes: options.minutes, signal })
          .catch((error: unknown) => {
            // A server that restarts is away for some seconds.
            if (shown !== undefined && isScreen && isAway(error)) return error;
            throw error;
          });
        if (figures instanceof Error) out.write(toScreen(withNote(figures.message, shown), rowsOf(out)));
        else if (options.json) for (const queue of figures) print(`${JSON.stringify(queue)}\n`);
        else {
          const waiting = figures.filter(({ ready }) => ready > 0).map(({ type }) => type);
          const view = describe(figures, await typesWithoutWorker(client, waiting, signal), options);
          signal.throwIfAborted();
          if (shown === undefined && isScreen) out.write(ownScreen[0]);
          out.write(isScreen ? toScreen(view, rowsOf(out)) : `${toText(view)}\n`);
          shown = view;
        }
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

/** What is shown: a text for each type, of one or several lines, below a heading. */
interface View {
  readonly heading: string;
  readonly types: readonly string[];
}

const isAway = (error: unknown): error is JobtreeError =>
  error instanceof JobtreeError && error.code === 'UNREACHABLE';

/** What was shown last, below a message. */
function withNote(message: string, { heading, types }: View = { heading: '', types: [] }): View {
  return { heading: `${wrap(visible(`${message} Trying again…`), terminalWidth())}\n${heading}`, types };
}

function toText({ heading, types }: View): string {
  return [heading, ...types].join('\n');
}

/** As many types as the screen has room for, and how many there are besides. */
function toScreen({ heading, types }: View, rows: number): string {
  const heightOf = (text: string) => text.split('\n').length;
  const room = rows - heightOf(heading);
  const isWhole = heightOf(types.join('\n')) <= room;
  const shown: string[] = [];
  for (let left = isWhole ? room : room - 1; shown.length < types.length; ) {
    const next = types[shown.length] ?? '';
    left -= heightOf(next);
    if (left < 0) break;
    shown.push(next);
  }
  const more = types.length - shown.length;
  const rest = more === 0 ? [] : [`… and ${count(more)} more ${more === 1 ? 'type' : 'types'}`];
  const lines = toText({ heading, types: [...shown, ...rest] }).split('\n');
  return `${home}${lines.map((line) => line + clearLine).join('\r\n')}${clearRest}`;
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
): View {
  // What has most to do comes first.
  const sorted = [...queues].sort(
    (a, b) => b.figures.perSecond - a.figures.perSecond || b.ready - a.ready || a.type.localeCompare(b.type),
  );
  const since = minutes === 1 ? 'minute' : `${minutes} minutes`;
  const rows = sorted.map((queue) => toCells(queue, withoutWorker.has(queue.type)));
  const title = wrap(`rates, times and failures of the last ${since}`, terminalWidth());
  const [titles = '', ...types] = toLines(columns, rows);
  return { heading: `${title}\n${titles}`, types };
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
