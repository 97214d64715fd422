/** Turns the jobs of an input into those of the domain, with their files stored as uploads and referred to by key. */
import type { NewJob } from '../domain/jobs/create-job.ts';
import type { NewFile } from '../domain/uploads/file-options.ts';
import type { GivenFile } from './file-input.ts';
import { keyOf } from './global-id.ts';
import type { GivenJob } from './inputs.ts';
import type { ReceivedFile } from './received-file.ts';

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
