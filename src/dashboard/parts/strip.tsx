/** The items of a job as a strip: where along the job is what. From a million items to one, and there to the item. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type MouseEvent, type ReactNode, type RefObject, useRef, useState } from 'react';
import { ItemRanges, type ItemStatus } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { type Pushed, useFollowing } from '../data/follow.ts';
import {
  isExactAt,
  panned,
  positionAt,
  type Strip,
  segmentAt,
  toStrip,
  type View,
  zoomedIn,
  zoomedOut,
} from '../data/strip.ts';
import { useTexts } from '../texts/all.ts';
import { Answer } from './ask.tsx';
import { useDrawn } from './canvas.ts';
import { drawStrip, drawSwatch } from './strip-canvas.ts';

/** So many reads make one strip; what is beyond is shown when it is zoomed into. */
const mostReads = 10;
/** An item that is as wide as this can be clicked. */
const itemPx = 4;

const idOf = (jobId: string, position: number) => `${jobId.replace('Job:', 'JobItem:')}:${position}`;

async function readStrip(jobId: string, { from, to }: View, signal: AbortSignal) {
  const ranges = [];
  let next = from === undefined ? null : idOf(jobId, from);
  const end = to === undefined ? null : idOf(jobId, to);
  for (let reads = 0; reads < mostReads; reads++) {
    const { job } = await ask(ItemRanges, { jobId, from: next, to: end }, signal);
    ranges.push(...(job?.itemRanges.ranges ?? []));
    next = job?.itemRanges.nextFrom ?? null;
    if (next === null) break;
  }
  return { strip: toStrip(ranges), isCut: next !== null };
}

export const stripOf = (jobId: string, view: View) =>
  queryOptions({
    queryKey: ['strip', jobId, view.from, view.to],
    queryFn: ({ signal }) => readStrip(jobId, view, signal),
  });

interface StripProps {
  readonly jobId: string;
  readonly itemCount: number;
  readonly pushed: Pushed;
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly onOpen: (itemId: string) => void;
}

export function ItemStrip(props: StripProps) {
  const t = useTexts();
  const { jobId, view, pushed } = props;
  const query = useQuery({ ...stripOf(jobId, view), placeholderData: (before) => before });
  useFollowing(query, pushed);
  return (
    <Answer query={query}>
      {({ strip, isCut }) => (
        <>
          <Shown {...props} strip={strip} />
          {isCut && <p className="quiet">{t.strip.cut}</p>}
        </>
      )}
    </Answer>
  );
}

function Shown({ jobId, itemCount, view, onView, onOpen, strip }: StripProps & { strip: Strip }) {
  const t = useTexts();
  const canvas = useRef<HTMLCanvasElement>(null);
  const whole = useRef({ first: 0, last: 0 });
  const [wanted, setCursor] = useState(0);
  const cursor = Math.min(wanted, Math.max(0, strip.total - 1));
  const isWhole = view.from === undefined && view.to === undefined;
  if (isWhole) whole.current = { first: positionAt(strip, 0), last: positionAt(strip, strip.total - 1) };

  const zoomIn = (n = cursor) => strip.total > 1 && onView(zoomedIn(strip, n));
  const zoomOut = () => !isWhole && onView(whole.current.last === 0 ? {} : zoomedOut(view, whole.current));
  const isKnown = isExactAt(strip, cursor);
  const open = (n: number) => onOpen(idOf(jobId, positionAt(strip, n)));
  const step = Math.max(1, Math.round((strip.total * itemPx) / (canvas.current?.clientWidth ?? 600)));
  const moveTo = (n: number) => setCursor(Math.min(Math.max(0, n), Math.max(0, strip.total - 1)));
  const keys: Record<string, () => unknown> = {
    ArrowLeft: () => moveTo(cursor - step),
    ArrowRight: () => moveTo(cursor + step),
    Home: () => moveTo(0),
    End: () => moveTo(strip.total - 1),
    PageUp: () => onView(panned(view, -1)),
    PageDown: () => onView(panned(view, 1)),
    '+': () => zoomIn(),
    '-': zoomOut,
    Enter: () => (isKnown ? open(cursor) : zoomIn()),
  };
  const pick = (n: number, isWide: boolean) => {
    moveTo(n);
    if (isWide && isExactAt(strip, n)) open(n);
    else zoomIn(n);
  };
  return (
    <div className="strip">
      <Slider canvas={canvas} strip={strip} cursor={cursor} keys={keys} onPick={pick} />
      <div className="buttons">
        <Tool label={t.strip.zoomIn} isOff={strip.total <= 1} act={() => zoomIn()}>
          +
        </Tool>
        <Tool label={t.strip.zoomOut} isOff={isWhole} act={zoomOut}>
          −
        </Tool>
        <Moves view={view} isOff={isWhole} onView={onView} />
        <button type="button" disabled={!isKnown} onClick={() => open(cursor)}>
          {t.strip.openItem}
        </button>
        <span className="quiet">{t.strip.shown(strip.total, itemCount)}</span>
      </div>
    </div>
  );
}

interface SliderProps {
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  readonly strip: Strip;
  readonly cursor: number;
  readonly keys: Readonly<Record<string, () => unknown>>;
  /** Called with the number of an item, and whether it is wide enough to be meant alone. */
  readonly onPick: (n: number, isWide: boolean) => void;
}

function Slider({ canvas, strip, cursor, keys, onPick }: SliderProps) {
  const t = useTexts();
  const text = useWords(strip, cursor);
  useDrawn(canvas, (element) => drawStrip(element, strip, cursor), [strip, cursor]);
  const onClick = ({ nativeEvent: { offsetX } }: MouseEvent) => {
    const width = Math.max(1, canvas.current?.clientWidth ?? 1);
    const n = Math.min(Math.floor((offsetX / width) * strip.total), strip.total - 1);
    onPick(n, width / strip.total >= itemPx);
  };
  return (
    <>
      <div
        role="slider"
        tabIndex={0}
        aria-label={t.strip.label}
        aria-description={t.strip.help}
        aria-valuemin={1}
        aria-valuemax={Math.max(1, strip.total)}
        aria-valuenow={cursor + 1}
        aria-valuetext={text}
        onKeyDown={(event) => actOn(event, keys)}
        onClick={onClick}
      >
        <canvas ref={canvas} />
      </div>
      <p className="words">{text}</p>
    </>
  );
}

function actOn(event: KeyboardEvent, keys: Readonly<Record<string, () => unknown>>): void {
  const act = keys[event.key];
  if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
}

/** What is at the cursor. */
function useWords(strip: Strip, cursor: number): string {
  const t = useTexts();
  const segment = segmentAt(strip, cursor);
  if (segment === undefined) return t.none;
  const { start, count, first, last, counts } = segment;
  const states = counts.map(({ status, count }) => t.strip.count(count, t.state[status] ?? status));
  return t.strip.at(start + 1, start + count, strip.total, first, last, states.join(', '));
}

function Moves(props: { view: View; isOff: boolean; onView: (view: View) => void }) {
  const { view, isOff, onView } = props;
  const t = useTexts();
  return (
    <>
      <Tool label={t.strip.left} isOff={isOff} act={() => onView(panned(view, -1))}>
        ←
      </Tool>
      <Tool label={t.strip.right} isOff={isOff} act={() => onView(panned(view, 1))}>
        →
      </Tool>
      <button type="button" disabled={isOff} onClick={() => onView({})}>
        {t.strip.whole}
      </button>
    </>
  );
}

function Tool({
  label,
  isOff,
  act,
  children,
}: {
  label: string;
  isOff: boolean;
  act: () => unknown;
  children: ReactNode;
}) {
  return (
    <button type="button" aria-label={label} title={label} disabled={isOff} onClick={act}>
      {children}
    </button>
  );
}

export function Swatch({ status }: { status: ItemStatus }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useDrawn(canvas, (element) => drawSwatch(element, status), [status]);
  return <canvas className="swatch" ref={canvas} />;
}
