/** What servers tell each other of new work: how many items of which types. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';

/** Keeps a message below the 8,000 bytes that NOTIFY takes. */
const maxLength = 7_000;

const message = z.object({
  /** Two relays pass on every message, and Postgres may deliver it besides. */
  id: z.uuid().optional(),
  types: z.array(z.tuple([z.string(), z.number().positive()])),
});

/** Undefined if it is none. */
export function readWork(payload: string): z.infer<typeof message> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    value = payload;
  }
  return message.safeParse(value).data;
}

export function toMessages(counts: ReadonlyMap<string, number>): { id: string; text: string }[] {
  const messages: [string, number][][] = [[]];
  let length = 0;
  for (const entry of counts) {
    // In UTF-8 a UTF-16 unit takes at most three bytes.
    const size = JSON.stringify(entry).length * 3 + 1;
    if (length + size > maxLength) {
      messages.push([]);
      length = 0;
    }
    length += size;
    messages.at(-1)?.push(entry);
  }
  return messages.map((types) => {
    const id = randomUUID();
    return { id, text: JSON.stringify({ id, types }) };
  });
}
