/**
 * A bucket of S3, or of anything that speaks its protocol: small objects, each written once. Every request ends in bounded time,
 * and a failure is a StoreError. The client library is loaded with the first request, so that servers without a store need not
 * load it.
 */
import { setMaxListeners } from 'node:events';
import type { GetObjectCommandOutput, S3Client } from '@aws-sdk/client-s3';
import type { Logger } from 'pino';
import type { ObjectStoreConfig } from '../config/object-store-url.ts';
import { StoreError } from './store-error.ts';

/** The limit of a request with all its attempts: up to two more if it fails in a way that may pass. */
const standardLimitMs = 30_000;
const attempts = 3;
const connectMs = 3_000;
/** For everything that uploads, imports and removals do at once; further requests wait in the library. */
const mostConnections = 100;

type Library = typeof import('@aws-sdk/client-s3');
type Body = AsyncIterable<Uint8Array> & { destroy(): void };

export interface S3StoreOptions {
  readonly config: ObjectStoreConfig;
  readonly logger?: Logger | undefined;
  /** How long a request may take in all, in milliseconds. */
  readonly limitMs?: number | undefined;
}

export class S3Store {
  /** The name that uploads remember. */
  readonly name: string;
  readonly #config: ObjectStoreConfig;
  readonly #logger: Logger | undefined;
  readonly #limitMs: number;
  readonly #closed = new AbortController();
  #opened: Promise<{ library: Library; client: S3Client }> | undefined;
  #isAway = false;

  constructor({ config, logger, limitMs = standardLimitMs }: S3StoreOptions) {
    // Each request listens to this signal.
    setMaxListeners(0, this.#closed.signal);
    this.name = config.name;
    this.#config = config;
    this.#logger = logger;
    this.#limitMs = limitMs;
  }

  async put(key: string, data: Buffer, signal?: AbortSignal): Promise<void> {
    await this.#request(signal, async (client, { PutObjectCommand }, abortSignal) => {
      const input = { ...this.#object(key), Body: data, ContentLength: data.length };
      await client.send(new PutObjectCommand(input), { abortSignal });
    });
  }

  /** The bytes from `from` up to `size`, the size of the whole object. */
  async get(key: string, from: number, size: number, signal?: AbortSignal): Promise<Buffer> {
    return this.#request(signal, async (client, { GetObjectCommand }, abortSignal) => {
      const range = from === 0 ? {} : { Range: `bytes=${from}-` };
      const answer = await client.send(new GetObjectCommand({ ...this.#object(key), ...range }), {
        abortSignal,
      });
      return readBody(answer, size - from, abortSignal);
    });
  }

  /** Deleting an object that does not exist succeeds, too. */
  async delete(key: string, signal?: AbortSignal): Promise<void> {
    await this.#request(signal, async (client, { DeleteObjectCommand }, abortSignal) => {
      await client.send(new DeleteObjectCommand(this.#object(key)), { abortSignal });
    });
  }

  /** The first keys that begin with `beginning`, up to `most`. */
  async list(beginning: string, most: number, signal?: AbortSignal): Promise<string[]> {
    const { bucket, prefix } = this.#config;
    return this.#request(signal, async (client, { ListObjectsV2Command }, abortSignal) => {
      const input = { Bucket: bucket, Prefix: prefix + beginning, MaxKeys: most };
      const { Contents = [] } = await client.send(new ListObjectsV2Command(input), { abortSignal });
      return Contents.map(({ Key = '' }) => Key.slice(prefix.length));
    });
  }

  /** Aborts requests in flight. */
  close(): void {
    this.#closed.abort();
    this.#opened?.then(({ client }) => client.destroy()).catch(() => {});
  }

  #object(key: string) {
    return { Bucket: this.#config.bucket, Key: this.#config.prefix + key };
  }

  async #open() {
    const library = await import('@aws-sdk/client-s3');
    const { endpoint, region, pathStyle } = this.#config;
    const agent = { keepAlive: true, maxSockets: mostConnections };
    const client = new library.S3Client({
      region,
      ...(endpoint !== undefined && { endpoint }),
      forcePathStyle: pathStyle,
      maxAttempts: attempts,
      // Many stores other than AWS refuse the library's own checksums, and its Expect header.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      expectContinueHeader: false,
      requestHandler: {
        connectionTimeout: Math.min(connectMs, this.#limitMs),
        requestTimeout: this.#limitMs / attempts,
        throwOnRequestTimeout: true,
        httpAgent: agent,
        httpsAgent: agent,
      },
    });
    return { library, client };
  }

  /** Sets a limit of its own, since those of the library apply to a single attempt and do not count the waits between attempts. */
  async #request<T>(
    signal: AbortSignal | undefined,
    act: (client: S3Client, library: Library, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const ended = new AbortController();
    const end = () => ended.abort();
    const timer = setTimeout(() => ended.abort(lateReason), this.#limitMs);
    const signals = [this.#closed.signal, ...(signal === undefined ? [] : [signal])];
    for (const one of signals) {
      if (one.aborted) end();
      one.addEventListener('abort', end);
    }
    try {
      this.#opened ??= this.#open();
      const { client, library } = await this.#opened;
      const answer = await Promise.race([act(client, library, ended.signal), abortion(ended.signal)]);
      this.#note(undefined);
      return answer;
    } catch (error) {
      const refusal = toStoreError(ended.signal.reason === lateReason ? lateReason : error, this.#limitMs);
      if (signals.every(({ aborted }) => !aborted)) this.#note(refusal);
      throw refusal;
    } finally {
      clearTimeout(timer);
      for (const one of signals) one.removeEventListener('abort', end);
    }
  }

  /** Logs when the store begins to fail, and when it works again. */
  #note(failure: StoreError | undefined): void {
    const isAway = failure !== undefined;
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    const { name: store } = this;
    if (isAway) this.#logger?.warn({ store, reason: failure.reason }, failure.problem);
    else this.#logger?.info({ store }, 'the object store works again');
  }
}

const lateReason = new Error('late');

function abortion(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

async function readBody(
  { Body: given }: GetObjectCommandOutput,
  size: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const body = given as unknown as Body;
  const end = () => body.destroy();
  signal.addEventListener('abort', end, { once: true });
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > size) break;
  }
  if (bytes !== size)
    throw new StoreError('The object in the store is not the one that was stored.', 'WrongSize');
  return Buffer.concat(pieces, size);
}

/** Only names and codes, since messages of S3 quote what was signed. */
function toStoreError(error: unknown, limitMs: number): StoreError {
  if (error instanceof StoreError) return error;
  if (error === lateReason)
    return new StoreError(`The object store did not answer within ${limitMs / 1_000} s.`, 'TimeoutError');
  const {
    name = 'Error',
    code,
    $metadata,
  } = error as {
    name?: string;
    code?: string;
    $metadata?: { httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  if (status !== undefined) return new StoreError(`The object store refused with ${status} ${name}.`, name);
  if (name === 'CredentialsProviderError')
    return new StoreError('There are no credentials for the object store.', name);
  return new StoreError(`The object store can't be reached: ${code ?? name}.`, code ?? name);
}
