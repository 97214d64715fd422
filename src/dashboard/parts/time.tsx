import { formatTime } from '../texts/formats.ts';

/** In the reader's zone, with the exact instant for machines and on hovering. */
export function Time({ at }: { at: string | null | undefined }) {
  return at == null ? null : (
    <time dateTime={at} title={at}>
      {formatTime(at)}
    </time>
  );
}
