import { largeBytes, largeTurn } from '../../concurrency/large-turns.ts';
import { measured } from '../../schema/core/answer-size.ts';
import type { Services } from '../../schema/core/services.ts';

/** The turn for limiting and writing an answer; undefined if the answer is not large. */
export function turnToWrite(context: Services): Promise<void> | undefined {
  const { bytes } = measured(context);
  return bytes > largeBytes ? largeTurn(bytes, context.engine) : undefined;
}
