/** Logs a worker's events as structured lines. */
import type { Assignment } from '../types.ts';
import type { Emitter } from './emitter.ts';
import type { Logger } from './handler.ts';

/** The part of a worker that its log needs. */
interface Worker extends Pick<Emitter, 'on'> {
  readonly name: string;
}

/** Starts and successes are logged at debug, failures at warn, problems of the worker at error. Payloads and results are never logged. */
export function logEvents(worker: Worker, logger: Logger): void {
  const name = worker.name;
  const fields = (assignment: Assignment) => fieldsOf(name, assignment);
  worker.on('connected', () => logger.info({ worker: name }, 'worker connected'));
  worker.on('disconnected', (error) => logger.warn({ worker: name, err: error }, 'worker lost the server'));
  worker.on('claimed', (assignment) => logger.debug(fields(assignment), 'item started'));
  worker.on('succeeded', (assignment) => logger.debug(fields(assignment), 'item succeeded'));
  worker.on('failed', (assignment, { code, message, retryAt, error }) => {
    const failure = { code, reason: message, retryAt, ...(error !== undefined && { err: error }) };
    logger.warn({ ...fields(assignment), ...failure }, 'item failed');
  });
  worker.on('snoozed', (assignment, dueAt) => logger.debug({ ...fields(assignment), dueAt }, 'item snoozed'));
  worker.on('aborted', (assignment, code) => logger.warn({ ...fields(assignment), code }, 'item aborted'));
  worker.on('stale', (assignment) => logger.warn(fields(assignment), 'outcome came too late'));
  worker.on('released', (assignment) => logger.info(fields(assignment), 'item given back'));
  worker.on('paused', () => logger.info({ worker: name }, 'worker paused'));
  worker.on('resumed', () => logger.info({ worker: name }, 'worker resumed'));
  worker.on('error', (error, again) => logger.error({ worker: name, err: error, again }, 'worker problem'));
  worker.on('stopped', () => logger.info({ worker: name }, 'worker stopped'));
}

/** A handler's logger: adds the fields of the item to each line, and writes to the console if the worker has no logger. */
export function loggerOf(worker: string, assignment: Assignment, logger: Logger = onConsole): Logger {
  const fields = fieldsOf(worker, assignment);
  const write = (level: keyof Logger) => (more: object, message: string) =>
    logger[level]({ ...fields, ...more }, message);
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

const onConsole: Logger = {
  debug: (fields, message) => console.debug(message, fields),
  info: (fields, message) => console.info(message, fields),
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
};

function fieldsOf(worker: string, { id, itemId, jobId, type, attempt }: Assignment) {
  return { worker, assignmentId: id, itemId, jobId, type, attempt };
}
