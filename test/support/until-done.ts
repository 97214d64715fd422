/** A call that is repeated until it is done, while servers and what they stand on fail. */
import { setTimeout as delay } from 'node:timers/promises';
import { JobtreeError } from '../../src/client/index.ts';

/** That a server failed, for whatever reason, is a problem; that it can't be reached is not. */
export async function untilDone<T>(call: () => Promise<T>, problems: string[]): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof JobtreeError)) throw error;
      if (error.code === 'BAD_RESPONSE') problems.push(`a call: ${error.message}`);
      else if (error.code !== 'UNREACHABLE' && error.code !== 'BUSY') throw error;
      await delay(100);
    }
  }
}
