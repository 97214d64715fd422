/** Workers that wait for work with one claim each, on WebSockets of their own. They report what they get, and wait again. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { readTask, serve } from '../child.ts';
import { inFlight } from '../in-flight.ts';
import type { IdleClaimsTask } from '../task.ts';

const { url, types, waitMs } = readTask<IdleClaimsTask>();
const claim = `mutation ($worker: String!, $type: String!) {
  claimItems(input: { worker: $worker, waitMs: ${waitMs}, requests: [{ type: $type, limit: 1 }] }) {
    ... on ClaimItemsPayload { assignments { id payload } }
  }
}`;
const report = `mutation ($id: ID!) {
  reportOutcomes(input: { reports: [{ assignmentId: $id, outcome: { success: { result: null } } }] }) { __typename }
}`;
const now = () => performance.timeOrigin + performance.now();
/** When each item was given to one of them, by its number. */
const givenAt: number[] = [];
let onGiven = () => {};

async function open(n: number): Promise<void> {
  const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws');
  await once(socket, 'open');
  let operation = 0;
  const send = (query: string, variables: object) =>
    socket.send(
      JSON.stringify({ type: 'subscribe', id: String(++operation), payload: { query, variables } }),
    );
  const wait = () => send(claim, { worker: `idle ${n}`, type: types[n % types.length] });
  socket.on('message', (text) => {
    const { type, payload } = JSON.parse(String(text));
    if (type === 'connection_ack') wait();
    if (type === 'error') throw new Error(JSON.stringify(payload));
    if (type !== 'next') return;
    const { claimItems, reportOutcomes } = payload.data;
    if (reportOutcomes !== undefined) return;
    for (const assignment of claimItems.assignments) {
      givenAt[assignment.payload.number] = now();
      send(report, { id: assignment.id });
      onGiven();
    }
    wait();
  });
  socket.send('{"type":"connection_init"}');
}

const methods = {
  connect: (first: number, count: number) => inFlight(count, 50, (i) => open(first + i)),
  /** When this item was given to a worker. */
  async given(number: number): Promise<number> {
    while (givenAt[number] === undefined)
      await new Promise<void>((resolve) => {
        onGiven = resolve;
      });
    return givenAt[number];
  },
};

export type IdleClaimsMethods = typeof methods;

serve(methods);
