/** The new items that a handler feeds to child jobs, until they go out with its result. */
import type { NewItemInput } from '../../generated/operations.ts';
import { toItemSpec } from '../define-type.ts';
import { JobtreeError, PermanentError } from '../errors.ts';
import { type ItemSpec, toItemInput } from '../job-spec.ts';

export class NewItems {
  readonly items: NewItemInput[] = [];
  /** The rough size of the payloads, in units of JSON text. */
  size = 0;

  /** @throws PermanentError NOT_JSON, so that a handler that does not catch it fails its item for good */
  add(to: string | { readonly type: string }, items: readonly unknown[]): void {
    const type = typeof to === 'string' ? to : to.type;
    for (const item of items) {
      const spec = typeof to === 'string' ? (item as ItemSpec) : toItemSpec(item);
      const { input, size } = this.#convert(spec, `newItems[${this.items.length}]`);
      this.items.push({ type, ...input });
      this.size += size;
    }
  }

  #convert(spec: ItemSpec, path: string): ReturnType<typeof toItemInput> {
    try {
      return toItemInput(spec, path);
    } catch (error) {
      if (error instanceof JobtreeError)
        throw new PermanentError(error.message, { code: 'NOT_JSON', cause: error });
      throw error;
    }
  }
}
