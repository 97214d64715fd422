/** Reads whatever arrives on many connections, and drops it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { readTask, serve } from '../child.ts';
import { inFlight } from '../in-flight.ts';
import type { ReaderTask } from '../task.ts';

const { port, connections } = readTask<ReaderTask>();
await inFlight(connections, 50, async () => {
  await once(connect(port, '127.0.0.1').resume(), 'connect');
});
const methods = {};
export type ReaderMethods = typeof methods;
serve(methods);
