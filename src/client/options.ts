/** Options that do not exist are refused: without a compiler, a misspelt one would have no effect, silently. */
import { JobtreeError } from './errors.ts';
import type { CallOptions } from './types.ts';

/** What every call takes. */
export const callOptions = { signal: true } satisfies Record<keyof CallOptions, true>;

/** @throws JobtreeError INVALID_INPUT, naming the option behind `path` */
export function refuseUnknown(options: object, known: object, path = ''): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue;
    const field = `${path}${name}`;
    const message = `${field} is not an option; there are ${Object.keys(known).join(', ')}.`;
    throw new JobtreeError('INVALID_INPUT', message, { field });
  }
}
