/** All that is reachable without a key, in size, number and slowness: `everybody-is-served.ts` says what is held, and how to run it in full. */
import { beforeTheKey } from '../support/hostile/before-the-key.ts';
import { everybodyIsServed } from '../support/hostile/everybody-is-served.ts';

everybodyIsServed(beforeTheKey, { roles: ['stranger'] });
