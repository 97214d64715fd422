/** Options that do not exist are refused: without a compiler, a misspelt one would have no effect, silently. */
import type { Document } from './document.ts';
import { JobtreeError } from './errors.ts';
import type { CallOptions, PageOptions } from './types.ts';

/** Sends a request for a call with these options, if there are such options: `known`, by default those that every call takes. */
export type Send = <R, V>(
  document: Document<R, V>,
  variables: V,
  options: CallOptions,
  repeatable: boolean,
  known?: object,
) => Promise<R>;

/** What every call takes. */
export const callOptions = { signal: true } satisfies Record<keyof CallOptions, true>;

export const pageOptions = { ...callOptions, first: true, after: true } satisfies Record<
  keyof PageOptions,
  true
>;

/** @throws JobtreeError INVALID_INPUT, naming the option behind `path` */
export function refuseUnknown(options: object, known: object, path = ''): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue;
    const field = `${path}${name}`;
    const message = `${field} is not an option; there are ${Object.keys(known).join(', ')}.`;
    throw new JobtreeError('INVALID_INPUT', message, { field });
  }
}
