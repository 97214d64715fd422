/** What servers tell each other of new work: how many items of which types. */
import { z } from 'zod';

/** Keeps a message below the 8,000 bytes that NOTIFY takes. */
const maxLength = 7_000;

const message = z.object({
  /** The server that sent it; absent from other senders. */
  from: z.string().optional(),
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

export function toMessages(from: string, counts: ReadonlyMap<string, number>): string[] {
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
  return messages.map((types) => JSON.stringify({ from, types }));
}
