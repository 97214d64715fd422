/** Pages, exports and counts, of others and of much at once: `everybody-is-served.ts` says what is held, and how to run it in full. */
import { everybodyIsServed } from '../support/hostile/everybody-is-served.ts';
import { prepareReads, reads } from '../support/hostile/reads.ts';

everybodyIsServed(reads, { isShort: () => false, prepare: prepareReads });
