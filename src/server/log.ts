/**
 * The service's log: a line of JSON each on standard error, so that standard output stays free for a command's own output.
 *
 * An outage makes everything fail that tries again, over and over. So a warning with an error stands there once, and then
 * once a minute, with how often it came meanwhile. Other lines, and those of faults, always do.
 */
import pino, { type Logger } from 'pino';
import { Repeats } from '../domain/repeats.ts';

const warn = 40;

/** Where what shows who somebody is may stand in a line. */
const secrets = ['authorization', 'cookie', 'connectionParams', 'token'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.headers.${name}`,
]);

export function createLogger(level: string): Logger {
  const repeats = new Repeats<Warning>(({ fields, message }, times) =>
    logger.warn({ ...fields, times }, message),
  );
  const logger: Logger = pino(
    {
      name: 'jobtree',
      level,
      base: { pid: process.pid },
      // Nothing logs these on purpose; an error of a library may bring them along.
      redact: secrets,
      hooks: {
        logMethod(args, method, level) {
          if (level !== warn || !isRepeat(args, repeats)) method.apply(this, args);
        },
      },
    },
    pino.destination({ dest: 2, sync: false }),
  );
  return logger;
}

interface Warning {
  readonly fields: object;
  readonly message: string;
}

/** Whether it is a warning with an error whose message stands in the log already. */
function isRepeat([fields, message]: readonly unknown[], repeats: Repeats<Warning>): boolean {
  if (typeof message !== 'string' || !isWarning(fields) || 'times' in fields) return false;
  return repeats.isRepeat(`${message} ${fields.part ?? ''}`, { fields, message });
}

function isWarning(fields: unknown): fields is { err: unknown; part?: string } {
  return typeof fields === 'object' && fields !== null && 'err' in fields;
}
