import pino, { type Logger } from 'pino';

/** The service's log: a line of JSON each on standard error, so that standard output stays free for a command's own output. */
export function createLogger(level: string): Logger {
  return pino(
    { name: 'jobtree', level, base: { pid: process.pid } },
    pino.destination({ dest: 2, sync: false }),
  );
}
