/** A worker's events as structured lines. */
import type { Assignment } from '../types.ts';
import type { Emitter } from './emitter.ts';
import type { WorkerEvents } from './events.ts';

type Write = (fields: object, message: string) => void;

/** pino, or anything that takes fields and a message. */
export interface Logger {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/** As much of a worker as its log needs. */
interface Worker extends Pick<Emitter<WorkerEvents>, 'on'> {
  readonly name: string;
}

/** Starts and ends at debug, failures at warn, problems of the worker at error. Payloads and results never. */
export function logEvents(worker: Worker, logger: Logger): void {
  const name = worker.name;
  const fields = ({ id, itemId, jobId, type, attempt }: Assignment) => ({
    worker: name,
    assignmentId: id,
    itemId,
    jobId,
    type,
    attempt,
  });
  worker.on('connected', () => logger.info({ worker: name }, 'worker connected'));
  worker.on('disconnected', (error) => logger.warn({ worker: name, err: error }, 'worker lost the server'));
  worker.on('claimed', (assignment) => logger.debug(fields(assignment), 'item started'));
  worker.on('succeeded', (assignment) => logger.debug(fields(assignment), 'item succeeded'));
  worker.on('failed', (assignment, { code, message, retryAt }) => {
    logger.warn({ ...fields(assignment), code, reason: message, retryAt }, 'item failed');
  });
  worker.on('aborted', (assignment, code) => logger.warn({ ...fields(assignment), code }, 'item aborted'));
  worker.on('stale', (assignment) => logger.warn(fields(assignment), 'outcome came too late'));
  worker.on('released', (assignment) => logger.info(fields(assignment), 'item given back'));
  worker.on('error', (error, again) => logger.error({ worker: name, err: error, again }, 'worker problem'));
  worker.on('stopped', () => logger.info({ worker: name }, 'worker stopped'));
}
