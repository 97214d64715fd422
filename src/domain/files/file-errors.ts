/** Why a file can't be imported, or not to its end. */
export const fileErrorCodes = {
  NOT_TEXT: 'It is not in the given encoding, or not text at all.',
  NOT_DECOMPRESSED: "It is compressed, and is incomplete or damaged, or the server can't decompress it.",
  BAD_STRUCTURE: 'It is not in the given format: an invalid header, or a JSON array that ends early.',
  LIMIT_EXCEEDED: 'It has more columns, or more decompressed text, than the server accepts.',
  STORE_UNAVAILABLE:
    'The object store does not return the upload. While the import is WAITING, the server tries again, for an hour.',
  STORAGE_LIMIT:
    'The tenant would store more items or bytes than it may (JOBTREE_TENANT_MAX_STORED_ITEMS, JOBTREE_TENANT_MAX_STORED_BYTES).',
  JOB_SEALED: 'The job was sealed or cancelled before the whole file was read.',
  INTERNAL: 'The server failed repeatedly at the same place; its log says more.',
} as const;
export type FileErrorCode = keyof typeof fileErrorCodes;

/** The rest of the file can't be read. */
export class FileError extends Error {
  readonly code: FileErrorCode;
  /** The line where that was found; undefined if it concerns no single line. */
  readonly line: number | undefined;
  readonly reason: string;

  constructor(code: FileErrorCode, reason: string, line?: number) {
    super(line === undefined ? reason : `Line ${line}: ${reason}`);
    this.name = 'FileError';
    this.code = code;
    this.line = line;
    this.reason = reason;
  }
}
