/** Where an error came from, as a report says it. */

/** In UTF-8. The server takes as many characters, which are never more. */
const maxBytes = 4_096;
/** Of a message in a stack: the failure has all of it, and a long one would leave no room for the lines that follow. */
const maxMessageLength = 200;
const maxCauses = 5;
/** Where the client is. */
const ownFolder = new URL('../', import.meta.url).pathname;

/** The stack of what was thrown, and of its causes, cut at the end of a line; undefined if there is none. */
export function stackOf(error: unknown): string | undefined {
  const text = chainOf(error).map(ownStack).filter(Boolean).join('\nCaused by: ');
  return text === '' ? undefined : fit(text);
}

/** The error and its causes, each once: a cause may be its own. */
export function chainOf(error: unknown): readonly object[] {
  if (typeof error !== 'object' || error === null) return [];
  const chain = new Set([error]);
  let { cause } = error as { cause?: unknown };
  while (cause instanceof Error && !chain.has(cause) && chain.size <= maxCauses) {
    chain.add(cause);
    cause = cause.cause;
  }
  return [...chain];
}

function ownStack(error: object): string {
  const { stack, message } = error as { stack?: unknown; message?: unknown };
  if (typeof stack !== 'string') return '';
  const upToHandler = withoutCallers(stack);
  if (typeof message !== 'string' || message.length <= maxMessageLength) return upToHandler;
  return upToHandler.replace(message, () => `${message.slice(0, maxMessageLength)}…`);
}

/** The lines of the worker that called the handler are the same in each stack, and say nothing. An error of the client itself keeps its lines. */
function withoutCallers(stack: string): string {
  let end = stack.length;
  for (;;) {
    const start = stack.lastIndexOf('\n', end - 1);
    const line = stack.slice(start + 1, end);
    if (start < 0 || !/^ +at /.test(line)) return stack;
    if (!line.includes(ownFolder)) return stack.slice(0, end);
    end = start;
  }
}

function fit(text: string): string {
  const whole = text
    .slice(0, maxBytes + 1)
    .replaceAll('\0', '\uFFFD')
    .toWellFormed();
  const { read } = new TextEncoder().encodeInto(whole, new Uint8Array(maxBytes));
  if (read === whole.length) return whole;
  const cut = whole.slice(0, read);
  const end = cut.lastIndexOf('\n');
  return end > 0 ? cut.slice(0, end) : cut;
}
