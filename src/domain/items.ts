/** New items: what a producer may say of one, and its check. */
import { checkInstant, checkInteger, checkText, toJsonText } from './checks.ts';
import { type Limits, maxDedupeKeyLength, priorityRange } from './limits.ts';

export interface NewItem {
  readonly payload?: unknown;
  readonly dedupeKey?: string | null | undefined;
  readonly priority?: number | null | undefined;
  readonly runAt?: Date | null | undefined;
}

/** The item as the JSON text that insert_items takes. The payload is turned into text once, and not again. */
export function toItemText(
  item: NewItem,
  field: string,
  limits: Limits,
  extra?: Record<string, unknown>,
): string {
  const payload = toJsonText(item.payload, `${field}.payload`, limits.maxJsonBytes);
  if (extra === undefined && item.dedupeKey == null && item.priority == null && item.runAt == null) {
    return `{"payload":${payload}}`;
  }
  const rest = JSON.stringify({
    ...extra,
    dedupeKey:
      item.dedupeKey == null
        ? undefined
        : checkText(item.dedupeKey, `${field}.dedupeKey`, maxDedupeKeyLength),
    priority:
      item.priority == null ? undefined : checkInteger(item.priority, `${field}.priority`, ...priorityRange),
    runAt: item.runAt == null ? undefined : checkInstant(item.runAt, `${field}.runAt`),
  });
  return rest === '{}' ? `{"payload":${payload}}` : `{"payload":${payload},${rest.slice(1)}`;
}
