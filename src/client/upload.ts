/** Uploads a file part by part: an interrupted upload resumes where it stopped. The protocol is tus 1.0.0. */
import { backoffMs, wait } from './backoff.ts';
import type { Credentials } from './credentials.ts';
import { fromGraphqlErrors, isRefusal, isTransient, JobtreeError } from './errors.ts';
import { callOptions, refuseUnknown } from './options.ts';
import type { CallOptions } from './types.ts';

/** A path (under Node.js), a `File` or `Blob`, or a stream of bytes. */
export type UploadSource = string | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

export interface UploadOptions extends CallOptions {
  /** The SHA-256 of the file in hexadecimal: a file with another one is refused. Default: not checked. */
  readonly sha256?: string | undefined;
  /** Called with the bytes that have arrived, and the size of the file in bytes if it is known. Default: none. */
  readonly onProgress?: ((bytes: number, size: number | undefined) => void) | undefined;
}

export interface Upload {
  /** The id for `file` of a job. */
  readonly id: string;
  /** In bytes. */
  readonly size: number;
  /** In hexadecimal, as computed by the server. */
  readonly sha256: string;
}

export interface UploadEndpoint {
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
  readonly credentials: Credentials;
  readonly retryMs: number;
  readonly timeoutMs: number;
  readonly onRetry: ((error: JobtreeError) => void) | undefined;
}

const uploadOptions = { ...callOptions, sha256: true, onProgress: true } satisfies Record<
  keyof UploadOptions,
  true
>;

/** How much is sent in one request, and held in memory. */
const partBytes = 4 * 1_024 * 1_024;

export async function upload(
  endpoint: UploadEndpoint,
  source: UploadSource,
  options: UploadOptions,
): Promise<Upload> {
  refuseUnknown(options, uploadOptions);
  const { sha256, onProgress, signal } = options;
  const { size, name, parts } = await open(source);
  try {
    const sender = new Sender(endpoint, signal);
    const address = await sender.create(size, sha256, name);
    let sent = 0;
    for await (const part of parts) {
      await sender.append(address, sent, part);
      sent += part.length;
      onProgress?.(sent, size);
    }
    if (size === undefined) await sender.append(address, sent, new Uint8Array(), sent);
    else if (sent !== size)
      throw new JobtreeError('INVALID_INPUT', `The file has ${sent} bytes now; it had ${size}.`);
    return await sender.find(address);
  } finally {
    await parts.return();
  }
}

/** The requests of an upload, each tried again while the server is away. */
class Sender {
  readonly #endpoint: UploadEndpoint;
  readonly #signal: AbortSignal | undefined;

  constructor(endpoint: UploadEndpoint, signal: AbortSignal | undefined) {
    this.#endpoint = endpoint;
    this.#signal = signal;
  }

  /** Returns the address of the new upload. If the answer is lost, the server removes that upload, which is never finished. */
  async create(size: number | undefined, sha256: string | undefined, name: string | undefined): Promise<URL> {
    const address = new URL('api/uploads', this.#endpoint.url);
    const headers: Record<string, string> =
      size === undefined ? { 'upload-defer-length': '1' } : { 'upload-length': String(size) };
    if (sha256 !== undefined) headers['repr-digest'] = `sha-256=:${hexToBase64(sha256)}:`;
    if (name !== undefined) headers['upload-metadata'] = `filename ${toBase64(name)}`;
    const response = await this.#patiently(() => this.#ask('POST', address, headers));
    const location = response.headers.get('location');
    if (location === null) throw new JobtreeError('BAD_RESPONSE', `${address.origin} names no upload.`);
    return new URL(location, address);
  }

  /** @param length the size of the whole upload, with its last part, if it was not known before */
  async append(address: URL, offset: number, part: Uint8Array, length?: number): Promise<void> {
    let stored = offset;
    let isSure = true;
    await this.#patiently(async () => {
      if (!isSure) {
        const found = await this.#ask('HEAD', address, {});
        stored = Number(found.headers.get('upload-offset'));
        if (stored < offset || stored > offset + part.length)
          throw new JobtreeError('BAD_RESPONSE', `The server has ${stored} bytes of the upload.`);
        const isEnded = length === undefined || found.headers.has('upload-length');
        if (stored === offset + part.length && isEnded) return;
      }
      isSure = false;
      await this.#ask(
        'PATCH',
        address,
        {
          'content-type': 'application/offset+octet-stream',
          'upload-offset': String(stored),
          ...(length !== undefined && { 'upload-length': String(length) }),
        },
        part.subarray(stored - offset),
      );
    });
  }

  async find(address: URL): Promise<Upload> {
    const response = await this.#patiently(() => this.#ask('GET', address, {}));
    const { id, size, sha256 } = (await response.json()) as Upload;
    return { id, size, sha256 };
  }

  /** Tries again for as long as `retryMs`. */
  async #patiently<T>(act: () => Promise<T>): Promise<T> {
    const giveUpAt = performance.now() + this.#endpoint.retryMs;
    const { credentials } = this.#endpoint;
    for (let failures = 1; ; failures++) {
      let shown: string | undefined;
      try {
        shown = await credentials.authorization();
        return await act();
      } catch (error) {
        this.#signal?.throwIfAborted();
        if (isRefusal(error) && credentials.refused(shown)) continue;
        const delay = backoffMs(failures);
        if (!(error instanceof JobtreeError) || !isTransient(error) || performance.now() + delay > giveUpAt)
          throw error;
        this.#endpoint.onRetry?.(error);
        await wait(delay, this.#signal);
        this.#signal?.throwIfAborted();
      }
    }
  }

  async #ask(
    method: string,
    address: URL,
    headers: Record<string, string>,
    body?: Uint8Array,
  ): Promise<Response> {
    const { fetch, timeoutMs, credentials } = this.#endpoint;
    const own = await credentials.headers();
    const timeout = AbortSignal.timeout(timeoutMs);
    let response: Response;
    try {
      response = await fetch(address, {
        method,
        headers: { ...own, 'tus-resumable': '1.0.0', ...headers },
        signal: this.#signal ? AbortSignal.any([this.#signal, timeout]) : timeout,
        ...(body && { body: body as Uint8Array<ArrayBuffer> }),
      });
      if (response.status !== 401) credentials.accepted();
      if (method !== 'GET' || !response.ok) return await checked(response, address);
    } catch (cause) {
      if (cause instanceof JobtreeError) throw cause;
      throw new JobtreeError('UNREACHABLE', `No answer from ${address.origin}.`, { cause });
    }
    return response;
  }
}

/** @throws JobtreeError if the response is not a success */
async function checked(response: Response, address: URL): Promise<Response> {
  const text = await response.text();
  if (response.ok) return response;
  const { status } = response;
  // For 409, an interrupted request of this upload has stored more meanwhile: the next try asks how much.
  const isTransientStatus = status === 409 || status === 429 || status >= 502;
  if (isTransientStatus) throw new JobtreeError('UNREACHABLE', `${address.origin} answered ${status}.`);
  const errors = errorsIn(text);
  if (errors.length > 0) throw fromGraphqlErrors(errors);
  // A response to HEAD has no body with an error.
  if (status === 404) throw new JobtreeError('NOT_FOUND', 'The upload is gone.');
  throw new JobtreeError('BAD_RESPONSE', `${address.origin} answered ${status}.`);
}

function errorsIn(text: string): readonly unknown[] {
  try {
    return (JSON.parse(text) as { errors?: readonly unknown[] } | null)?.errors ?? [];
  } catch {
    return [];
  }
}

interface Parts {
  /** Undefined for a stream. */
  readonly size: number | undefined;
  /** Of the file, if it has one. */
  readonly name?: string | undefined;
  readonly parts: AsyncGenerator<Uint8Array, void, undefined>;
}

async function open(source: UploadSource): Promise<Parts> {
  if (typeof source === 'string') return openPath(source);
  if (source instanceof Blob)
    return { size: source.size, name: (source as Partial<File>).name, parts: partsOfBlob(source) };
  return { size: undefined, parts: gathered(source as AsyncIterable<Uint8Array>) };
}

async function openPath(path: string): Promise<Parts> {
  // Not imported, so that bundles for browsers need not know it.
  const fs = globalThis.process?.getBuiltinModule?.('node:fs');
  if (fs === undefined)
    throw new JobtreeError('INVALID_INPUT', 'Paths work only under Node.js; in a browser, pass the File.');
  const { size } = await fs.promises.stat(path);
  // Opened when it is read: until then nobody would hear of its errors, or close it.
  const parts = (async function* () {
    yield* gathered(fs.createReadStream(path, { highWaterMark: partBytes }));
  })();
  return { size, name: path.replace(/^.*[\\/]/s, ''), parts };
}

async function* partsOfBlob(blob: Blob): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < blob.size; at += partBytes)
    yield new Uint8Array(await blob.slice(at, at + partBytes).arrayBuffer());
}

async function* gathered(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  const take = () => {
    const part = new Uint8Array(bytes);
    let at = 0;
    for (const chunk of waiting) {
      part.set(chunk, at);
      at += chunk.length;
    }
    waiting = [];
    bytes = 0;
    return part;
  };
  for await (const chunk of chunks) {
    waiting.push(chunk);
    bytes += chunk.length;
    if (bytes >= partBytes) yield take();
  }
  if (bytes > 0) yield take();
}

/** Of the first 255 characters, which are what the server keeps. */
function toBase64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode([...text].slice(0, 255).join(''))));
}

function hexToBase64(hex: string): string {
  if (!/^[0-9a-f]{64}$/i.test(hex))
    throw new JobtreeError('INVALID_INPUT', 'sha256 must be 64 hexadecimal digits.', { field: 'sha256' });
  return btoa(String.fromCharCode(...(hex.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16))));
}
