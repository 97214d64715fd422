/**
 * `/api/uploads`: files of any size, in one POST, or by the tus protocol (1.0.0: creation, creation-defer-length, expiration, termination),
 * which resumes interrupted uploads. A tus request is "these are the next bytes" with a few headers, and is stored as that. So two clients on
 * one upload need no lock: one of them finds that its bytes are not the next ones.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { type Caller, explainRefusal, uploadsOf } from '../../domain/access/rights.ts';
import type { Upload } from '../../domain/files/read-uploads.ts';
import { fileName, parseDigest, type Uploads } from '../../domain/files/uploads.ts';
import { InvalidInputError, NotFoundError } from '../../errors.ts';
import { encodeGlobalId, keyOf } from '../../schema/core/global-id.ts';
import type { OwnerOf } from '../rights/owners.ts';
import { answerEarly } from './answer-early.ts';
import { errorText, errorType } from './answer-error.ts';
import { hasherOf } from './upload-body.ts';
import { conflict, toRefusal, UploadError, type UploadStore } from './upload-store.ts';

/** Answers the request if it is for uploads; returns whether it did. */
export type ServeUploads = (request: IncomingMessage, response: ServerResponse) => boolean;

const path = /^\/api\/uploads(?:\/([^/]*))?$/;

export const isUploadPath = (url: string | undefined) => path.test(url?.split('?', 1)[0] ?? '');

const tusVersion = '1.0.0';
const bodyType = 'application/offset+octet-stream';
const methods = 'POST, HEAD, PATCH, DELETE, GET, OPTIONS';

export function createUploads(options: {
  uploads: Uploads;
  store: UploadStore;
  callerOf: (request: IncomingMessage) => Caller;
  ownerOf: OwnerOf;
  isClosing: () => boolean;
  logger: Logger;
}): ServeUploads {
  const { uploads, store, callerOf, ownerOf, isClosing, logger } = options;

  const postWhole = async (request: IncomingMessage, response: ServerResponse) => {
    const whole = await store.whole(request, {
      length: headerNumber(request, 'content-length'),
      sha256: digestOf(request),
      sender: callerOf(request),
      owner: ownerOf(request),
    });
    if (whole === undefined) return;
    answer(response, 201, toJson(whole), { location: locationOf(whole), ...digestHeader(whole) });
  };

  const create = async (request: IncomingMessage, response: ServerResponse) => {
    const length = headerNumber(request, 'upload-length');
    if ((length === undefined) === (request.headers['upload-defer-length'] !== '1')) {
      throw new InvalidInputError('Give either Upload-Length, or Upload-Defer-Length: 1.', 'Upload-Length');
    }
    const sender = callerOf(request);
    const upload = await store.begin({
      length,
      sha256: digestOf(request),
      name: nameOf(request),
      sender,
      owner: ownerOf(request),
    });
    if (length === 0) await store.finish(upload, { hasher: await hasherOf(upload), size: 0 });
    respond(response, 201, { ...tusHeaders(upload), location: locationOf(upload) });
  };

  const append = async (request: IncomingMessage, response: ServerResponse, upload: Upload) => {
    if (request.headers['content-type'] !== bodyType)
      throw new UploadError(415, 'INVALID_INPUT', `Content-Type must be ${bodyType}.`, 'Content-Type');
    const offset = headerNumber(request, 'upload-offset');
    if (offset === undefined) throw new InvalidInputError('Upload-Offset is missing.', 'Upload-Offset');
    if (offset !== upload.size || upload.sha256 !== null) throw conflict();
    const length = lengthOf(request, upload);
    const { end, size, hasher } = await store.append(request, upload, {
      length,
      owner: ownerOf(request),
      isLeaving: isClosing,
    });
    if (end === 'TOO_LARGE') throw store.tooLarge(length);
    if (end === 'TAKEN') throw conflict();
    const stored = { ...upload, size, length };
    // Even if the connection broke: nobody gets this answer, but a client that asks later finds the upload complete.
    const now = size === length ? await store.finish(stored, { hasher, size }) : stored;
    if (end === 'ALL') respond(response, 204, tusHeaders(now));
  };

  /** The length of the upload, which may be declared as late as with its last part. */
  const lengthOf = (request: IncomingMessage, upload: Upload): number | null => {
    const named = headerNumber(request, 'upload-length');
    if (named === undefined) return upload.length;
    store.checkLength(named);
    if (named < upload.size || (upload.length !== null && named !== upload.length)) {
      throw new InvalidInputError('Upload-Length is not the length of the upload.', 'Upload-Length');
    }
    return named;
  };

  const serveOne = async (request: IncomingMessage, response: ServerResponse, id: string) => {
    const uploadId = keyOf('Upload', decode(id), 'id');
    const found = await uploads.find(uploadId, uploadsOf(callerOf(request)));
    if (found === undefined) throw new NotFoundError(`There is no upload ${id}.`, 'id');
    // A server that died right after storing the last byte has not completed the upload.
    const isUnfinished = found.sha256 === null && found.size === found.length;
    const upload = isUnfinished
      ? await store.finish(found, { hasher: await hasherOf(found), size: found.size })
      : found;
    switch (request.method) {
      case 'GET':
        return answer(response, 200, toJson(upload), {
          'cache-control': 'no-store',
          ...digestHeader(upload),
        });
      case 'HEAD':
        return respond(response, 200, { 'cache-control': 'no-store', ...tusHeaders(upload) });
      case 'PATCH':
        return append(request, response, upload);
      case 'DELETE': {
        if ((await uploads.remove(uploadId)) === 'USED')
          throw new UploadError(409, 'UPLOAD_IN_USE', 'A job is being filled from this upload.');
        return respond(response, 204, {});
      }
      default:
        throw notAllowed();
    }
  };

  const serve = async (request: IncomingMessage, response: ServerResponse, id: string | undefined) => {
    if (request.method === 'OPTIONS') {
      return respond(response, 204, {
        'tus-version': tusVersion,
        'tus-extension': 'creation,creation-defer-length,expiration,termination',
        'tus-max-size': String(store.maxBytes),
      });
    }
    const caller = callerOf(request);
    if (!caller.permissions.has('create'))
      throw new UploadError(403, 'FORBIDDEN', explainRefusal(caller, 'create', '/api/uploads'));
    const version = request.headers['tus-resumable'];
    // Whole files, and what is asked of them, need no header.
    if (version !== tusVersion && (version !== undefined || request.method === 'PATCH')) {
      response.setHeader('tus-version', tusVersion);
      throw new UploadError(412, 'INVALID_INPUT', `Tus-Resumable must be ${tusVersion}.`, 'Tus-Resumable');
    }
    if (id !== undefined) return serveOne(request, response, id);
    if (request.method !== 'POST') throw notAllowed();
    return version === undefined ? postWhole(request, response) : create(request, response);
  };

  const fail = (request: IncomingMessage, response: ServerResponse, error: unknown) => {
    const { status, ...refusal } = toRefusal(error);
    if (status >= 500 && refusal.code === 'INTERNAL' && !isClosing())
      logger.error({ err: error }, 'an upload failed');
    const headers = status === 503 ? { 'retry-after': '1' } : {};
    answerEarly(request, response, status, errorText(refusal), { ...errorType, ...headers });
  };

  return (request, response) => {
    const [, id] = path.exec(request.url?.split('?', 1)[0] ?? '') ?? [null];
    if (id === null || !isUploadPath(request.url)) return false;
    response.setHeader('tus-resumable', tusVersion);
    serve(request, response, id).catch((error) => fail(request, response, error));
    return true;
  };
}

const notAllowed = () => new UploadError(405, 'INVALID_INPUT', `Uploads support only ${methods}.`);

/** The header as a whole number; undefined if there is none. */
function headerNumber({ headers }: IncomingMessage, name: string): number | undefined {
  const text = headers[name];
  if (text === undefined) return undefined;
  const value = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw new InvalidInputError(`${name} must be a whole number of bytes.`, name);
  return value;
}

/** The SHA-256 that the whole file must have, from a field of RFC 9530. */
function digestOf({ headers }: IncomingMessage): Buffer | undefined {
  for (const name of ['repr-digest', 'content-digest']) {
    const text = headers[name];
    if (text !== undefined) return parseDigest(String(text), name);
  }
  return undefined;
}

/** What `Upload-Metadata` says of the file, in pairs of a word and a text in Base64: only its name is kept. */
function nameOf({ headers }: IncomingMessage): string | undefined {
  const pairs = String(headers['upload-metadata'] ?? '').split(',');
  const found = pairs.map((pair) => pair.trim().split(' ')).find(([word]) => word === 'filename');
  return fileName(Buffer.from(found?.[1] ?? '', 'base64').toString());
}

const idOf = ({ id }: Upload) => encodeGlobalId('Upload', id);

/** Relative to the collection, wherever a proxy puts that. */
const locationOf = (upload: Upload) => `uploads/${idOf(upload)}`;

const digestHeader = ({ sha256 }: Upload): Record<string, string> =>
  sha256 === null ? {} : { 'repr-digest': `sha-256=:${sha256.toString('base64')}:` };

const toJson = (upload: Upload) => ({
  id: idOf(upload),
  size: upload.size,
  sha256: upload.sha256?.toString('hex') ?? null,
  complete: upload.sha256 !== null,
  expiresAt: upload.expiresAt,
});

const tusHeaders = (upload: Upload): Record<string, string> => ({
  'upload-offset': String(upload.size),
  ...(upload.length === null ? { 'upload-defer-length': '1' } : { 'upload-length': String(upload.length) }),
  'upload-expires': upload.expiresAt.toUTCString(),
  ...(upload.name !== null && {
    'upload-metadata': `filename ${Buffer.from(upload.name).toString('base64')}`,
  }),
  ...digestHeader(upload),
});

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function respond(response: ServerResponse, status: number, headers: Record<string, string>): void {
  response.writeHead(status, headers).end();
}

const json = { 'content-type': 'application/json' };

function answer(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string>,
): void {
  const text = `${JSON.stringify(body)}\n`;
  const length = { 'content-length': String(Buffer.byteLength(text)) };
  response.writeHead(status, { ...json, ...length, ...headers }).end(text);
}
