/** One attempt at a callback: a signed POST to checked addresses, with a limit on its time and on how much of the answer is read. */
import { type ClientRequest, type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { CallbackAddresses } from '../../domain/callbacks/addresses.ts';
import type { DeliveryAnswer, LeasedDelivery } from '../../domain/callbacks/deliveries.ts';
import { SealedError, type SecretBox } from '../../domain/callbacks/secret-box.ts';

/** How much is read of the body of a refusal, in bytes: enough for its first words. */
const excerptBytes = 200;
const maxHeaderBytes = 16_384;

export interface CallbackRequestOptions {
  readonly addresses: CallbackAddresses;
  readonly secrets: SecretBox;
  readonly timeoutMs: number;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

/** Never rejects: any failure becomes an answer with an `error`. */
export async function sendCallback(
  delivery: LeasedDelivery,
  { addresses, secrets, timeoutMs, signal }: CallbackRequestOptions,
): Promise<DeliveryAnswer> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const ended = AbortSignal.any([signal, timeout]);
  let request: ClientRequest | undefined;
  try {
    const url = new URL(delivery.url);
    const pinned = await addresses.of(url, ended);
    const start = url.protocol === 'https:' ? overHttps : overHttp;
    request = start(url, {
      method: 'POST',
      headers: signedHeaders(delivery, secrets),
      agent: false,
      maxHeaderSize: maxHeaderBytes,
      lookup: lookUpPinned(pinned),
      signal: ended,
    });
    return await answerTo(request, delivery.body, ended);
  } catch (error) {
    return { error: timeout.aborted ? `No answer within ${timeoutMs} ms.` : describe(error) };
  } finally {
    request?.destroy();
  }
}

/** The headers of Standard Webhooks: signed with every valid secret. */
function signedHeaders(
  { messageId, endpoint, sentAt, secrets: stored, body }: LeasedDelivery,
  box: SecretBox,
): Record<string, string> {
  const secrets = stored.map((secret) => box.open(secret, endpoint));
  return {
    'user-agent': 'jobtree',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'webhook-id': messageId,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(messageId, sentAt, body)).join(' '),
  };
}

/** Resolves any name to the addresses that were checked, wherever DNS points by now. */
function lookUpPinned(addresses: readonly [string, ...string[]]): LookupFunction {
  const pinned = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_, { all }, callback) => {
    if (all) callback(null, pinned);
    else callback(null, addresses[0], isIP(addresses[0]));
  };
}

function answerTo(request: ClientRequest, body: string, ended: AbortSignal): Promise<DeliveryAnswer> {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    // The body decides nothing and may never end, so the headers are enough.
    request.on('response', (response) => resolve(judge(response, ended)));
    request.end(body);
  });
}

async function judge(response: IncomingMessage, ended: AbortSignal): Promise<DeliveryAnswer> {
  const { statusCode = 0, headers } = response;
  if (statusCode >= 200 && statusCode < 300) return { statusCode };
  if (statusCode >= 300 && statusCode < 400)
    return { statusCode, error: 'The endpoint answered with a redirect; redirects are not followed.' };
  const text = await excerpt(response, ended);
  return {
    statusCode,
    error: `The endpoint answered with status ${statusCode}${text === '' ? '.' : `: ${text}`}`,
    ...retryAfter(headers['retry-after']),
  };
}

/** The first words of the answer, as far as they arrive in time. */
async function excerpt(response: IncomingMessage, ended: AbortSignal): Promise<string> {
  let read = Buffer.alloc(0);
  try {
    for await (const chunk of response) {
      read = Buffer.concat([read, chunk as Buffer]);
      if (read.length >= excerptBytes || ended.aborted) break;
    }
  } catch {
    // What has arrived is enough.
  }
  // Postgres refuses NUL, and people can't read the other control characters.
  return read
    .subarray(0, excerptBytes)
    .toString()
    .replaceAll(/[\s\p{Cc}\ufffd]+/gu, ' ')
    .trim();
}

/** The header holds seconds or a date. */
function retryAfter(value: string | undefined): Pick<DeliveryAnswer, 'retryAfterMs' | 'retryAt'> {
  if (value === undefined) return {};
  if (/^\d{1,9}$/.test(value)) return { retryAfterMs: Number(value) * 1_000 };
  const retryAt = new Date(value);
  return Number.isNaN(retryAt.getTime()) ? {} : { retryAt };
}

function describe(error: unknown): string {
  if (error instanceof SealedError) return `The endpoint's secret can't be opened: ${error.message}.`;
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return [...new Set(errors.map(textOf))].join('; ').slice(0, 500);
}

/** Without addresses: they may be those of a network that callers don't know. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { address, syscall, code } = error as NodeJS.ErrnoException & { address?: string };
  return address === undefined ? error.message : `${syscall} ${code}`;
}
