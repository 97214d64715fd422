/** Options that do not exist are refused: without a compiler, a misspelt one would have no effect, silently. */
import { JobtreeError } from './errors.ts';

/** @throws JobtreeError INVALID_INPUT, naming the option behind `path` */
export function refuseUnknown(options: object, known: object, path = ''): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue;
    const field = `${path}${name}`;
    const message = `${field} is not an option; there are ${Object.keys(known).join(', ')}.`;
    throw new JobtreeError('INVALID_INPUT', message, { field });
  }
}
