/** `jobtree seal`: no more items come into a job. */
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../figures.ts';
import { printOutcome } from '../output.ts';

export async function sealJob(jobId: string, options: ApiOptions): Promise<number> {
  const { itemCount } = await withClient(options, async (client) => {
    await client.sealJob(jobId);
    return (await client.job(jobId)).progress;
  });
  printOutcome(options.json, { jobId }, `Sealed: ${counted(itemCount, 'item')}.`);
  return exitCodes.success;
}
