/** Turns the jobs of an input into those of the domain, with their files stored as uploads and referred to by key. */

import type { NewFile } from '../../domain/files/file-options.ts';
import type { NewJob } from '../../domain/jobs/create-job.ts';
import { keyOf } from '../core/global-id.ts';
import type { GivenFile } from '../files/file-input.ts';
import type { ReceivedFile } from '../files/received-file.ts';
import type { GivenJob } from './inputs.ts';

/** Adds files sent with the request to `files`. `path`: the position of the job in the input. */
export function toNewJob(job: GivenJob, path: string, files: ReceivedFile[]): NewJob {
  const { file, children, ...rest } = job;
  return {
    ...rest,
    file: file && toNewFile(file, `${path}file`, files),
    children: children?.map((child, i) => toNewJob(child, `${path}children[${i}].`, files)),
  };
}

export function toNewFile({ source, ...options }: GivenFile, path: string, files: ReceivedFile[]): NewFile {
  const { uploadId, file } = source;
  if (file != null) {
    files.push(file);
    return { ...options, source: { uploadId: file.upload.id } };
  }
  return { ...options, source: { uploadId: keyOf('Upload', uploadId ?? '', `${path}.source.uploadId`) } };
}
