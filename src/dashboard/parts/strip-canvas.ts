/** Draws strips: each status has a colour and a pattern. */
import type { ItemStatus } from '../../generated/dashboard.ts';
import { type Strip, stacked } from '../data/strip.ts';
import { begin, colourOf } from './canvas.ts';

const tile = 6;
/** The colour, and the lines on it, in tiles of 6 by 6 pixels. */
const looks: Record<
  ItemStatus,
  [colour: string, lines: readonly (readonly [number, number, number, number])[]]
> = {
  SUCCEEDED: ['--succeeded', []],
  FAILED: ['--failed', [[0, 6, 6, 0]]],
  CANCELLED: ['--cancelled', [[3, 0, 3, 6]]],
  RUNNING: ['--running', [[0, 3, 6, 3]]],
  RETRYING: [
    '--failed',
    [
      [0, 3, 6, 3],
      [3, 0, 3, 6],
    ],
  ],
  READY: ['--line', []],
  SCHEDULED: ['--line', [[0, 3, 6, 3]]],
  BLOCKED: [
    '--line',
    [
      [0, 0, 6, 6],
      [0, 6, 6, 0],
    ],
  ],
  WAITING: ['--line', [[3, 0, 3, 6]]],
};

/** Pixels that one failure among a million items takes at least. */
const leastPx = 2;

function paintOf(context: CanvasRenderingContext2D, status: ItemStatus): CanvasPattern | string {
  const [colour, lines] = looks[status];
  const fill = colourOf(context.canvas, colour);
  if (lines.length === 0) return fill;
  const canvas = document.createElement('canvas');
  canvas.width = tile;
  canvas.height = tile;
  const drawing = canvas.getContext('2d') as CanvasRenderingContext2D;
  drawing.fillStyle = fill;
  drawing.fillRect(0, 0, tile, tile);
  drawing.strokeStyle = colourOf(context.canvas, colour === '--line' ? '--quiet' : '--page');
  for (const [x1, y1, x2, y2] of lines) {
    drawing.moveTo(x1, y1);
    drawing.lineTo(x2, y2);
  }
  drawing.stroke();
  return context.createPattern(canvas, 'repeat') ?? fill;
}

export function drawSwatch(canvas: HTMLCanvasElement, status: ItemStatus): void {
  const { context, width, height } = begin(canvas);
  context.fillStyle = paintOf(context, status);
  context.fillRect(0, 0, width, height);
}

/** Status by status, so that the paint changes nine times, however many ranges there are. */
export function drawStrip(canvas: HTMLCanvasElement, { segments, total }: Strip, cursor: number): void {
  const { context, width, height } = begin(canvas);
  const px = width / Math.max(1, total);
  const tops = new Float64Array(segments.length);
  for (const status of stacked) {
    context.fillStyle = paintOf(context, status);
    for (const [i, { start, count, counts }] of segments.entries()) {
      const own = counts.find((one) => one.status === status)?.count;
      if (own === undefined) continue;
      const high = Math.max(leastPx, (height * own) / count);
      const top = Math.min(tops[i] as number, height - high);
      context.fillRect(start * px, top, Math.max(status === 'SUCCEEDED' ? 0 : leastPx, count * px), high);
      tops[i] = top + high;
    }
  }
  context.fillStyle = colourOf(canvas, '--text');
  const x = Math.min(width - 2, Math.max(0, (cursor + 0.5) * px - 1));
  context.fillRect(x, 0, 2, height);
}
