import type { Upload as StoredUpload } from '../../domain/files/read-uploads.ts';

/** A part of a request: stored before its operation begins, and removed afterwards unless the operation keeps it. */
export class ReceivedFile {
  readonly upload: StoredUpload;
  isKept = false;

  constructor(upload: StoredUpload) {
    this.upload = upload;
  }

  keep(): StoredUpload {
    this.isKept = true;
    return this.upload;
  }
}
