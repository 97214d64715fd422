/** Values that do not fit the schema, and are as long as a request may be, on a server with little memory. */
import { everybodyIsServed } from '../support/hostile/everybody-is-served.ts';
import { schemaBombs } from '../support/hostile/schema-bombs.ts';

everybodyIsServed(schemaBombs, { isShort: () => false, nodeOptions: '--max-old-space-size=512' });
