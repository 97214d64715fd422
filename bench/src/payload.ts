import { inFlight } from './in-flight.ts';

/** The same work for every contender: about 200 bytes of JSON, and a small result. */
export interface Payload {
  readonly number: number;
  readonly name: string;
  readonly text: string;
}

export function payload(number: number): Payload {
  return { number, name: `Item ${number}`, text: 'Lorem ipsum dolor sit amet, consectetur. '.repeat(4) };
}

export function payloads(count: number, first = 0): Payload[] {
  return Array.from({ length: count }, (_, i) => payload(first + i));
}

export function result({ number }: Payload): { readonly ok: true; readonly number: number } {
  return { ok: true, number };
}

const fillBatch = 1_000;

export async function inBatches(
  items: number,
  fill: (some: readonly Payload[]) => Promise<void>,
): Promise<void> {
  await inFlight(Math.ceil(items / fillBatch), 4, (i) =>
    fill(payloads(Math.min(fillBatch, items - i * fillBatch), i * fillBatch)),
  );
}
