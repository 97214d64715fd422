/** JSON with all digits of its numbers: those that JavaScript would round are strings with a mark until they are written or sent. */
import type { WebSocket } from 'ws';
import { type Texts, texts } from '../client/texts.ts';
import { mark, unmark } from '../domain/values/exact-numbers.ts';

export { unmark };

/** For a client. */
export const exactly: { readonly [texts]: Texts } = {
  [texts]: {
    received: mark,
    sent: unmark,
    over: (Base) =>
      class extends (Base as typeof WebSocket) {
        override send(data: string, ...rest: []): void {
          super.send(unmark(data), ...rest);
        }

        override emit(event: string | symbol, ...args: unknown[]): boolean {
          if (event === 'message') args[0] = Buffer.from(mark(String(args[0])));
          return super.emit(event, ...args);
        }
      },
  },
};

/** @throws SyntaxError that speaks of the text as it is */
export function fromJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const marked = mark(text);
  return marked === text ? value : JSON.parse(marked);
}

/** Nothing for what JSON does not have. */
export const toJson = (value: unknown): string => unmark(JSON.stringify(value) ?? '');
