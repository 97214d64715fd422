/** A server, asked as load balancers do, and the clocks: its own, that of Postgres, and that of this machine. */
import { type Judgement, ok, sick, span, warning } from './finding.ts';
import type { Session } from './session.ts';

const answerMs = 3_000;

export interface Server {
  readonly status: number;
  readonly text: string;
  /** By its `Date` header, which has whole seconds, on the clock of this machine: how far it is ahead. */
  readonly aheadMs: number | undefined;
}

/** Undefined if nothing answers there. */
export async function askServer(apiUrl: string): Promise<Server | undefined> {
  try {
    const askedAt = Date.now();
    const response = await fetch(new URL('/readyz', apiUrl), { signal: AbortSignal.timeout(answerMs) });
    const answeredAt = Date.now();
    const date = Date.parse(response.headers.get('date') ?? '');
    const aheadMs = Number.isNaN(date) ? undefined : date + 500 - (askedAt + answeredAt) / 2;
    return { status: response.status, text: (await response.text()).trim().slice(0, 200), aheadMs };
  } catch {
    return undefined;
  }
}

/** `isMeant`: somebody has named this URL, so a server should be there. */
export function checkServer(server: Server | undefined, url: string, isMeant: boolean): Judgement[] {
  if (server === undefined && !isMeant) return [];
  if (server === undefined)
    return [warning(`No server answers at ${url}.`, 'Start it, or name another server with --url.')];
  if (server.status === 200) return [ok(`${url} says: ${server.text}`)];
  const message = `${url} is not ready (${server.status}): ${server.text}`;
  if (server.status === 503)
    return [sick(message, 'This is normal while it shuts down; otherwise see postgres above, and its log.')];
  return [warning(message, 'Something else seems to answer there. Name the server with --url.')];
}

/** Beyond this it is no longer the network. */
const toleratedMs = 5_000;
/** Receivers of callbacks refuse what is signed at another time than this. */
const sickMs = 300_000;

export async function checkClocks(session: Session, server: Server | undefined): Promise<Judgement[]> {
  const machineMs = await howFarAhead(session);
  const clocks = [
    { name: 'This machine', aheadMs: machineMs },
    ...(server?.aheadMs === undefined ? [] : [{ name: 'The server', aheadMs: server.aheadMs + machineMs }]),
  ];
  const advice =
    'Synchronize the clocks (NTP). The clock of Postgres counts for deadlines, schedules and the signatures of callbacks. A worker whose clock is a day off cannot claim.';
  const found = clocks.flatMap(({ name, aheadMs }) => {
    const message = `${name} is ${span(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} Postgres.`;
    if (Math.abs(aheadMs) >= sickMs) return [sick(message, advice)];
    return Math.abs(aheadMs) >= toleratedMs ? [warning(message, advice)] : [];
  });
  if (found.length > 0) return found;
  const which = server?.aheadMs === undefined ? 'this machine agrees' : 'this machine and the server agree';
  return [ok(`${which} with Postgres within ${span(toleratedMs)}`)];
}

/** This machine before Postgres, by the quickest of three answers. */
async function howFarAhead(session: Session): Promise<number> {
  let best = { tookMs: Number.POSITIVE_INFINITY, aheadMs: 0 };
  for (let i = 0; i < 3; i++) {
    await session.use(async (client) => {
      const askedAt = Date.now();
      const { rows } = await client.query(
        'select extract(epoch from clock_timestamp())::float8 * 1000 as now',
      );
      const answeredAt = Date.now();
      const tookMs = answeredAt - askedAt;
      if (tookMs < best.tookMs) best = { tookMs, aheadMs: (askedAt + answeredAt) / 2 - rows[0].now };
    });
  }
  return best.aheadMs;
}
