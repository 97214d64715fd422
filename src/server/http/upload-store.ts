/** Stores uploads, whether they come as the body of a request or as a part of one. */
import type { Readable } from 'node:stream';
import { asRefusal } from '../../db/sqlstate.ts';
import type { NewUpload, Upload } from '../../domain/files/read-uploads.ts';
import type { Uploads } from '../../domain/files/uploads.ts';
import { type ErrorCode, JobtreeError } from '../../errors.ts';
import { type BodyOptions, type Stored, storeBody } from './upload-body.ts';

type UploadErrorCode =
  | ErrorCode
  | 'LIMIT_EXCEEDED'
  | 'DIGEST_MISMATCH'
  | 'OFFSET_CONFLICT'
  | 'UPLOAD_IN_USE'
  | 'INTERNAL';

/** A refusal with its HTTP status. */
export class UploadError extends Error {
  readonly status: number;
  readonly code: UploadErrorCode;
  readonly field: string | undefined;

  constructor(status: number, code: UploadErrorCode, message: string, field?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

export class UploadStore {
  readonly maxBytes: number;
  readonly #uploads: Uploads;

  constructor(options: { uploads: Uploads; maxBytes: number }) {
    this.#uploads = options.uploads;
    this.maxBytes = options.maxBytes;
  }

  /** @throws UploadError if an upload may not have so many bytes */
  checkLength(length: number): void {
    if (length > this.maxBytes) throw this.tooLarge(null);
  }

  tooLarge(length: number | null): UploadError {
    const most = length ?? this.maxBytes;
    return new UploadError(
      413,
      'LIMIT_EXCEEDED',
      `The upload has more than ${most} bytes; that is the limit.`,
    );
  }

  async begin(upload: NewUpload): Promise<Upload> {
    if (upload.length !== undefined) this.checkLength(upload.length);
    return this.#uploads.create(upload);
  }

  /** Stores the body as the next bytes of the upload. */
  append(
    body: Readable,
    upload: Upload,
    options: Pick<BodyOptions, 'length' | 'owner' | 'isLeaving'>,
  ): Promise<Stored> {
    return storeBody(body, {
      ...options,
      uploads: this.#uploads,
      upload,
      maxBytes: this.maxBytes,
    });
  }

  /** Completes the upload. If its SHA-256 is not the announced one, removes the upload and throws. */
  async finish(upload: Upload, { hasher, size }: Pick<Stored, 'hasher' | 'size'>): Promise<Upload> {
    const sha256 = Buffer.from(hasher.digest('binary'));
    if (upload.expectedSha256 !== null && !upload.expectedSha256.equals(sha256)) {
      await this.#uploads.remove(upload.id);
      throw new UploadError(
        422,
        'DIGEST_MISMATCH',
        `The SHA-256 of the upload is ${sha256.toString('hex')}, which is not the one announced. The upload was removed.`,
      );
    }
    if (!(await this.#uploads.finish(upload.id, size, sha256))) throw conflict();
    return (await this.#uploads.find(upload.id)) ?? { ...upload, length: size, size, sha256 };
  }

  /** Stores the body as a whole upload. A refused or broken one is removed; undefined if the stream broke. */
  async whole(
    body: Readable,
    { length, sha256, name, sender, owner }: Partial<NewUpload> & Pick<NewUpload, 'sender' | 'owner'>,
  ): Promise<Upload | undefined> {
    const upload = await this.begin({ length, sha256, name, sender, owner });
    try {
      const stored = await this.append(body, upload, { length: length ?? null, owner });
      if (stored.end === 'CUT') {
        await this.#uploads.remove(upload.id);
        return undefined;
      }
      if (stored.end !== 'ALL') throw stored.end === 'TOO_LARGE' ? this.tooLarge(null) : conflict();
      return await this.finish(upload, stored);
    } catch (error) {
      await this.#uploads.remove(upload.id).catch(() => undefined);
      throw error;
    }
  }

  /** Removes a finished upload that nobody will ask for. If that fails, it expires later. */
  async remove({ id }: Upload): Promise<void> {
    await this.#uploads.remove(id).catch(() => undefined);
  }
}

export const conflict = () =>
  new UploadError(
    409,
    'OFFSET_CONFLICT',
    'More or less of the upload is stored than the request says, or it is complete: ask with HEAD.',
    'Upload-Offset',
  );

const statuses: Partial<Record<ErrorCode, number>> = {
  NOT_FOUND: 404,
  INVALID_INPUT: 400,
  STORAGE_LIMIT: 507,
};

/** The answer to a request that failed with this error. */
export function toRefusal(error: unknown): {
  status: number;
  code: UploadErrorCode;
  message: string;
  field?: string | undefined;
} {
  const refusal = asRefusal(error);
  if (refusal instanceof UploadError || refusal instanceof JobtreeError) {
    const { code, message, field } = refusal;
    const status = refusal instanceof UploadError ? refusal.status : (statuses[refusal.code] ?? 503);
    return { status, code, message, field };
  }
  return { status: 500, code: 'INTERNAL', message: 'The upload failed.' };
}
