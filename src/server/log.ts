/**
 * The server's log: lines of JSON on standard error, so that standard output stays free for a command's own output.
 *
 * An outage makes everything fail that tries again, over and over. So a warning with an error stands there once, and then
 * once a minute, with how often it came meanwhile. Other lines, and those of faults, always do.
 */
import pino, { type DestinationStream, type Logger } from 'pino';

const everyMs = 60_000;
const warn = 40;

/** Where what shows who somebody is may stand in a line. */
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
      // Nothing logs these on purpose; an error of a library may bring them along.
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

/** Warnings with an error that came within the last minute, by their messages. */
class Repeats {
  readonly #kinds = new Map<string, { times: number; last: object; readonly message: string }>();
  tell: (fields: object, message: string) => void = () => {};

  /** Whether it stands in the log already; it is counted then. */
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
