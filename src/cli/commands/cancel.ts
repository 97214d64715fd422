/** `jobtree cancel`: a job and all below it come to their end; what is done stays. */
import { type ApiOptions, withClient } from '../api-options.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../figures.ts';

export async function cancelJob(jobId: string, options: ApiOptions): Promise<number> {
  const { cancelledItems } = await withClient(options, (client) => client.cancelJob(jobId));
  const verb = cancelledItems === 1 ? 'was' : 'were';
  const text = `Cancelled: ${counted(cancelledItems, 'item')} ${verb} pending.`;
  process.stdout.write(`${options.json ? JSON.stringify({ jobId, cancelledItems }) : text}\n`);
  return exitCodes.success;
}
