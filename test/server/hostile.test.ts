/** Hostile requests of all kinds, while others work and watch: `everybody-is-served.ts` says what is held, and how to run it in full. */
import { attacks, shortAttacks } from '../support/hostile/attacks.ts';
import { everybodyIsServed } from '../support/hostile/everybody-is-served.ts';

everybodyIsServed(attacks, { isShort: (attack) => shortAttacks.has(attack) });
