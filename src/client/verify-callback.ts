/** For receivers of callbacks: what they get, and how they know that it is genuine. */
import { Webhook } from 'standardwebhooks';
import type { CancelReason, JobOutcome } from '../generated/operations.ts';
import { JobtreeError } from './errors.ts';

interface Counts {
  readonly itemCount: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  /** How often it has been complete: 2 after a replay. */
  readonly completions: number;
}

/** What a receiver gets. */
export type CallbackMessage =
  | {
      readonly type: 'tree.completed';
      /** When, as text in ISO 8601. */
      readonly timestamp: string;
      /** Counts of all its jobs together. */
      readonly data: Counts & {
        readonly rootId: string;
        /** Of the root. */
        readonly type: string;
        readonly dedupeKey: string | null;
        readonly outcome: JobOutcome;
        /** Why the root was cancelled; null if it was not. */
        readonly cancelReason: CancelReason | null;
        /** How many jobs it has. */
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
        /** The setting: so many in an interval. */
        readonly threshold: number;
        readonly intervalMs: number;
        /** How many there were in the interval just over. */
        readonly count: number;
        /** The three largest groups of these. */
        readonly groups: readonly {
          readonly id: string;
          readonly code: string;
          readonly pattern: string;
          readonly count: number;
        }[];
      };
    };

/**
 * Checks, in a receiver, that a message comes from who has the secret, and is not older than five minutes. A message may come more than
 * once: `webhook-id` of its headers is the same each time.
 *
 * @param body as it came, not parsed and written again
 * @param headers those of the request, `webhook-id`, `webhook-timestamp` and `webhook-signature` among them
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
