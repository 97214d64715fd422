/** The traces that items belong to, given by producers and passed to workers. They are stored per range of items, and only if there are any. */
import type { Queries } from '../../db/database.ts';
import { InvalidInputError } from '../../errors.ts';
import type { ItemKey } from './ids.ts';

/** A W3C trace context. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | null | undefined;
}

const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const tracestate = /^[ -~]{1,512}$/;

export function checkTraceContext(context: TraceContext, field: string): TraceContext {
  if (!traceparent.test(context.traceparent))
    throw new InvalidInputError(
      `${field}.traceparent must be a W3C traceparent: 00-<32 hexadecimal digits>-<16>-<2>.`,
      `${field}.traceparent`,
    );
  if (context.tracestate != null && !tracestate.test(context.tracestate))
    throw new InvalidInputError(
      `${field}.tracestate must be a W3C tracestate: 1 to 512 visible ASCII characters.`,
      `${field}.tracestate`,
    );
  return { traceparent: context.traceparent, tracestate: context.tracestate ?? undefined };
}

/** The argument p_traces of add_items and add_payloads: runs of items that came in one call; null if there are none. */
export function toTraces(items: readonly { readonly trace?: TraceContext | undefined }[]): string | null {
  const runs: (TraceContext & { from: number; count: number })[] = [];
  let last: TraceContext | undefined;
  for (const [i, { trace }] of items.entries()) {
    const run = runs.at(-1);
    if (trace !== undefined && trace === last && run !== undefined) run.count++;
    else if (trace !== undefined) runs.push({ ...trace, from: i, count: 1 });
    last = trace;
  }
  return runs.length === 0 ? null : JSON.stringify(runs);
}

interface Row extends TraceContext {
  /** Which of the keys, from 1. */
  readonly n: number;
}

/** The trace of each item, in the order of the keys; null if it has none. */
export async function readTraceContexts(
  database: Queries,
  keys: readonly ItemKey[],
): Promise<(TraceContext | null)[]> {
  const { rows } = await database.pool.query<Row>({
    name: 'read_trace_contexts',
    text: `select u.n::int, t.traceparent, t.tracestate
           from unnest($1::uuid[], $2::bigint[]) with ordinality as u(job_id, position, n)
           cross join lateral (
             select * from jobtree.trace_context
             where job_id = u.job_id and position <= u.position
             order by job_id desc, position desc
             limit 1
           ) t
           where t.position + t.count > u.position`,
    values: [keys.map(({ jobId }) => jobId), keys.map(({ position }) => position)],
  });
  const contexts = new Array<TraceContext | null>(keys.length).fill(null);
  for (const { n, traceparent, tracestate } of rows) contexts[n - 1] = { traceparent, tracestate };
  return contexts;
}
