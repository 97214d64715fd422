/**
 * Reads a multipart/form-data body part by part: fields as strings, files as streams. The next part is read when the handler of the last one is
 * done, so that no more than a piece of the files is in memory.
 */
import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { GraphQLError } from 'graphql';
import { badRequest } from './request-body.ts';

/** All of a form but its files: fields, and everything between parts. */
export const maxFormBytes = 1_000_000;
/** How much of a file may have arrived before its stream gets it. */
const maxHeldBack = 200_000;
/** Headers of one part, which has three. */
const maxHeaderBytes = 8_192;

export interface FormHandlers {
  /** The parts that are fields; all others are files. */
  readonly fields: readonly string[];
  onField(name: string, text: string): Promise<void>;
  /** The stream is destroyed if the form fails. */
  onFile(name: string | undefined, file: BusboyFileStream): Promise<void>;
}

/** The client disconnected in the middle of its request. */
export class RequestCutError extends Error {}

/** Resolves when the whole form is read and the handlers of all parts are done. */
export function readForm(request: IncomingMessage, handlers: FormHandlers): Promise<void> {
  return new Promise((resolve, reject) => {
    const busboy = open(request, handlers.fields);
    const files: BusboyFileStream[] = [];
    let received = 0;
    let isOver = false;
    let work: Promise<unknown> = Promise.resolve();

    const fail = (error: unknown) => {
      if (isOver) return;
      isOver = true;
      request.unpipe(busboy);
      request.pause();
      for (const file of files) file.destroy();
      busboy.destroy();
      // The handler under way ends when its stream is destroyed.
      void work.finally(() => reject(error));
    };
    const then = (next: () => Promise<void>) => {
      work = work.then(() => (isOver ? undefined : next())).catch(fail);
    };

    request.once('close', () => {
      if (!request.readableEnded) fail(new RequestCutError('The request broke off.'));
    });
    if (request.destroyed) fail(new RequestCutError('The request broke off.'));
    busboy.on('field', (name, text, _, isTruncated) => {
      if (isTruncated) fail(tooLarge());
      else then(() => handlers.onField(name, text));
    });
    busboy.on('file', (name: string | undefined, file) => {
      files.push(file);
      file.on('error', () => {}); // its form fails, too
      then(() => handlers.onFile(name, file));
    });
    busboy.on('error', () => fail(badRequest('The body ends early, or is not multipart/form-data.')));
    busboy.on('finish', () => {
      void work.then(() => {
        if (isOver) return;
        isOver = true;
        resolve();
      });
    });
    request.pipe(busboy);
    // Registered after the pipe, so that `bytesRead` of the files counts this piece already.
    request.on('data', (piece: Buffer) => {
      received += piece.length;
      const inFiles = files.reduce((bytes, { bytesRead }) => bytes + bytesRead, 0);
      if (received - inFiles > maxFormBytes + maxHeldBack) fail(tooLarge());
    });
  });
}

function open(request: IncomingMessage, fields: readonly string[]): BusboyInstance {
  try {
    return new Busboy({
      headers: request.headers as { 'content-type': string },
      isPartAFile: (name) => name === undefined || !fields.includes(name),
      limits: { fieldSize: maxFormBytes, headerSize: maxHeaderBytes, headerPairs: 20 },
    });
  } catch {
    throw badRequest('The Content-Type has no boundary.');
  }
}

const tooLarge = () =>
  new GraphQLError(`The form has more than ${maxFormBytes} bytes besides its files; that is the limit.`, {
    extensions: { code: 'LIMIT_EXCEEDED', limit: 'bytes', maximum: maxFormBytes, http: { status: 413 } },
  });
