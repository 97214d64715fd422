import { isolatedWithin } from '../texts/isolated.ts';

/** What to show of something that was thrown, or of a refusal. */
export const messageOf = (error: unknown) =>
  isolatedWithin(String((error as { readonly message?: unknown } | null | undefined)?.message ?? error));
