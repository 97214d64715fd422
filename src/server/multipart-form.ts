/**
 * Reads a body of multipart/form-data, one part after the other: fields as texts, files as streams. The next part is read when somebody is
 * done with the last one, so that of files no more is in memory than a piece.
 */
import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { GraphQLError } from 'graphql';
import { badRequest } from './request-body.ts';

/** What of a form is no file: its fields, and all that stands between parts. */
export const maxFormBytes = 1_000_000;
/** So much of a file may have come that its stream does not have yet. */
const maxHeldBack = 200_000;
/** Of the headers of a part; it has three. */
const maxHeaderBytes = 8_192;

export interface FormHandlers {
  /** Which parts are fields; all others are files. */
  readonly fields: readonly string[];
  onField(name: string, text: string): Promise<void>;
  /** A stream that breaks is destroyed. */
  onFile(name: string | undefined, file: BusboyFileStream): Promise<void>;
}

/** The client has gone in the middle of its request. */
export class RequestCutError extends Error {}

/** Resolves when all of it is read, and all is done that was to be done with its parts. */
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
      // What is under way ends with its stream.
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
    busboy.on('error', () => fail(badRequest('The body breaks off, or is no multipart/form-data.')));
    busboy.on('finish', () => {
      void work.then(() => {
        if (isOver) return;
        isOver = true;
        resolve();
      });
    });
    request.pipe(busboy);
    // Behind the pipe: what this piece has of a file is counted there by now.
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
    throw badRequest('The Content-Type names no boundary.');
  }
}

const tooLarge = () =>
  new GraphQLError(`There are more than ${maxFormBytes} bytes beside the files; that is the limit.`, {
    extensions: { code: 'LIMIT_EXCEEDED', limit: 'bytes', maximum: maxFormBytes, http: { status: 413 } },
  });
