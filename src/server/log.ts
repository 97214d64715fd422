/**
 * The service's log: one line of JSON per entry on standard error, so that standard output stays free for a command's own output.
 *
 * During an outage everything that retries fails over and over. So a warning with an error is logged once, and then once a minute with the
 * number of repeats. Other lines, errors included, are always logged.
 */
import pino, { type DestinationStream, type Logger } from 'pino';
import { Repeats } from '../domain/engine/repeats.ts';

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
  const repeats = new Repeats<Warning>(({ fields, message }, times) =>
    logger.warn({ ...fields, times }, message),
  );
  const logger: Logger = pino(
    {
      name: 'jobtree',
      level,
      base: { pid: process.pid },
      // Nothing logs these on purpose, but an error of a library may carry them.
      redact: secrets,
      hooks: {
        logMethod(args, method, level) {
          if (level !== warn || !isRepeat(args, repeats)) method.apply(this, args);
        },
      },
    },
    destination,
  );
  return logger;
}

interface Warning {
  readonly fields: object;
  readonly message: string;
}

/** Whether it is a warning with an error whose message is in the log already. */
function isRepeat([fields, message]: readonly unknown[], repeats: Repeats<Warning>): boolean {
  if (typeof message !== 'string' || !isWarning(fields) || 'times' in fields) return false;
  return repeats.isRepeat(`${message} ${fields.part ?? ''}`, { fields, message });
}

function isWarning(fields: unknown): fields is { err: unknown; part?: string } {
  return typeof fields === 'object' && fields !== null && 'err' in fields;
}
