/** `jobtree delete`: a whole tree is gone, with its items and results. */
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';

export async function deleteJob(jobId: string, options: ApiOptions): Promise<number> {
  await withClient(options, (client) => client.deleteJob(jobId));
  process.stdout.write(`${options.json ? JSON.stringify({ jobId }) : 'Deleted.'}\n`);
  return exitCodes.success;
}
