/** New items: what a producer may set, and its checks. */
import type { Stored } from '../access/stored.ts';
import type { PreparedItem } from '../engine/batchers.ts';
import { checkInstant, checkInteger, checkName, checkText, toJsonText } from '../values/checks.ts';
import { type Limits, maxDedupeKeyLength, maxSerializeKeyLength, priorityRange } from '../values/limits.ts';

export interface NewItem {
  readonly payload?: unknown;
  readonly dedupeKey?: string | null | undefined;
  readonly priority?: number | null | undefined;
  readonly runAt?: Date | null | undefined;
  /** Items with one key run one at a time, in the order in which they were added. */
  readonly serializeKey?: string | null | undefined;
}

/** The size that they will take, approximately: text beyond ASCII has more bytes. */
export function sizeOf(items: readonly Pick<PreparedItem, 'payload'>[]): Stored {
  let bytes = 0;
  for (const { payload } of items) bytes += payload.length;
  return { items: items.length, bytes };
}

/** The item as the JSON text that insert_items takes. */
export function toItemText({ payload, settings }: PreparedItem): string {
  return settings === '' ? `{"payload":${payload}}` : `{"payload":${payload},${settings}}`;
}

/** Serializes the payload, so that it happens only once. */
export function prepareItem(
  item: NewItem,
  field: string,
  limits: Limits,
  extra?: Record<string, unknown>,
): PreparedItem {
  const payload = toJsonText(item.payload, `${field}.payload`, limits.maxJsonBytes);
  const { dedupeKey, priority, runAt, serializeKey } = item;
  if ((extra ?? dedupeKey ?? priority ?? runAt ?? serializeKey) == null) {
    return { payload, settings: '', kind: 'plain' };
  }
  const rest = JSON.stringify({
    ...extra,
    dedupeKey: dedupeKey == null ? undefined : checkText(dedupeKey, `${field}.dedupeKey`, maxDedupeKeyLength),
    priority: priority == null ? undefined : checkInteger(priority, `${field}.priority`, ...priorityRange),
    runAt: runAt == null ? undefined : checkInstant(runAt, `${field}.runAt`),
    serializeKey:
      serializeKey == null
        ? undefined
        : checkName(serializeKey, `${field}.serializeKey`, maxSerializeKeyLength),
  });
  return {
    payload,
    settings: rest.slice(1, -1),
    kind: serializeKey != null ? 'keyed' : dedupeKey != null ? 'deduped' : 'plain',
  };
}
