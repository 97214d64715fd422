/** For receivers of callbacks: the messages they get, and how to verify them. */
import { Webhook } from 'standardwebhooks';
import type { CancelReason, JobOutcome } from '../generated/operations.ts';
import { JobtreeError } from './errors.ts';

interface Counts {
  readonly itemCount: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  /** How often it has been complete: 2 after it was completed again, such as by a replay. */
  readonly completions: number;
}

/** The message that a receiver gets. */
export type CallbackMessage =
  | {
      readonly type: 'tree.completed';
      /** When it happened, as text in ISO 8601. */
      readonly timestamp: string;
      /** Counts over all jobs of the tree. */
      readonly data: Counts & {
        readonly rootId: string;
        /** The type of the root. */
        readonly type: string;
        readonly dedupeKey: string | null;
        readonly outcome: JobOutcome;
        /** Why the root was cancelled; null if it was not. */
        readonly cancelReason: CancelReason | null;
        /** How many jobs the tree has. */
        readonly jobs: number;
      };
    }
  | {
      readonly type: 'job.completed';
      readonly timestamp: string;
      readonly data: Counts & {
        readonly jobId: string;
        readonly rootId: string;
        readonly type: string;
        readonly dedupeKey: string | null;
        readonly outcome: JobOutcome;
        /** Why it was cancelled; null if it was not. */
        readonly cancelReason: CancelReason | null;
      };
    }
  | {
      readonly type: 'dead_letters.alert';
      readonly timestamp: string;
      readonly data: {
        readonly type: string;
        /** The alert's setting: this many dead letters within `intervalMs`. */
        readonly threshold: number;
        readonly intervalMs: number;
        /** How many there were in the interval that has just ended. */
        readonly count: number;
        /** The three largest groups among them. */
        readonly groups: readonly {
          readonly id: string;
          readonly code: string;
          readonly pattern: string;
          readonly count: number;
        }[];
      };
    };

/**
 * Verifies, in a receiver, that a message comes from the holder of the secret and is not older than five minutes. A message may
 * arrive more than once, with the same `webhook-id` header each time.
 *
 * @param body as it was received, not parsed and serialized again
 * @param headers those of the request, with `webhook-id`, `webhook-timestamp` and `webhook-signature`
 * @param secret that of the endpoint: `whsec_…`
 * @throws JobtreeError INVALID_SIGNATURE
 */
export function verifyCallback(
  body: string | Uint8Array,
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  secret: string,
): CallbackMessage {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const given = headers instanceof Headers ? headers : Object.entries(headers);
  const texts = Object.fromEntries([...given].map(([name, value]) => [name, String(value ?? '')]));
  try {
    return new Webhook(secret).verify(text, texts) as CallbackMessage;
  } catch (error) {
    throw new JobtreeError('INVALID_SIGNATURE', `The message is not genuine: ${(error as Error).message}.`);
  }
}
