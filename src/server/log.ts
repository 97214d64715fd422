/**
 * The service's log: one line of JSON per entry on standard error, so that standard output stays free for a command's own output.
 *
 * During an outage everything that retries fails over and over. So a warning with an error is logged once, and then once a minute with the
 * number of repeats. Other lines, errors included, are always logged.
 */
import pino, { type DestinationStream, type Logger } from 'pino';

const everyMs = 60_000;
const warn = 40;

/** Where credentials may appear in a log line. */
const secrets = ['authorization', 'cookie', 'connectionParams', 'token'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.headers.${name}`,
]);

/** `destination`: what takes the lines in place of standard error. */
export function createLogger(
  level: string,
  destination: DestinationStream = pino.destination({ dest: 2, sync: false }),
): Logger {
  const repeats = new Repeats();
  const logger = pino(
    {
      name: 'jobtree',
      level,
      base: { pid: process.pid },
      // Nothing logs these on purpose, but an error of a library may carry them.
      redact: secrets,
      hooks: {
        logMethod(args, method, level) {
          if (level !== warn || !repeats.isRepeat(args)) method.apply(this, args);
        },
      },
    },
    destination,
  );
  repeats.tell = (fields, message) => logger.warn(fields, message);
  return logger;
}

/** Warnings with an error of the last minute, by message. */
class Repeats {
  readonly #kinds = new Map<string, { times: number; last: object; readonly message: string }>();
  tell: (fields: object, message: string) => void = () => {};

  /** Counts the warning and returns true if it is in the log already. */
  isRepeat([fields, message]: readonly unknown[]): boolean {
    if (typeof message !== 'string' || !isWarning(fields) || 'times' in fields) return false;
    const key = `${message} ${fields.part ?? ''}`;
    const kind = this.#kinds.get(key);
    if (kind !== undefined) {
      kind.times++;
      kind.last = fields;
      return true;
    }
    this.#kinds.set(key, { times: 0, last: fields, message });
    this.#watch(key);
    return false;
  }

  #watch(key: string): void {
    setTimeout(() => {
      const kind = this.#kinds.get(key);
      if (kind === undefined || kind.times === 0) {
        this.#kinds.delete(key);
        return;
      }
      this.tell({ ...kind.last, times: kind.times }, kind.message);
      kind.times = 0;
      this.#watch(key);
    }, everyMs).unref();
  }
}

function isWarning(fields: unknown): fields is { err: unknown; part?: string } {
  return typeof fields === 'object' && fields !== null && 'err' in fields;
}
