/**
 * One item by a command: the payload as JSON on its standard input, the result from its standard output.
 *
 *   exit 0                success; the output as JSON if it is JSON, else as text, null if there is none
 *   exit 100              permanent failure: trying again is useless
 *   any other, or killed  failure, with the end of standard error as its message
 *
 * The command leads a process group of its own, so that Ctrl-C in a terminal does not end work that may still finish, and
 * so that whatever it started ends with it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { type HandlerContext, PermanentError } from '../../client/index.ts';
import { fromJson, toJson } from '../exact-json.ts';

export const permanentExitCode = 100;

const longestMessage = 2_000;
/** More than any server takes as a result. */
const longestOutput = 64 * 1024 * 1024;
const killAfterMs = 5_000;

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** Where the server is, for a command that wants to talk to it. */
  readonly url: string;
  /** Whether it gets the worker's key, too. */
  readonly passToken: boolean;
}

/** Without a stack: that would lead to this program, and not to what went wrong. */
export class CommandFailure extends Error {
  /** `EXIT_1`, `SIGKILL`, `NOT_STARTED` or `OUTPUT_TOO_LONG`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
    this.stack = '';
  }
}

const running = new Set<ChildProcess>();

/** For a worker that ends at once. */
export function killAll(): void {
  for (const child of running) killGroup(child, 'SIGKILL');
}

export async function runCommand(
  command: Command,
  payload: unknown,
  context: HandlerContext,
): Promise<unknown> {
  const child = spawn(command.program, command.args, {
    detached: process.platform !== 'win32',
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...process.env,
      // The key has rights that few commands need.
      ...(!command.passToken && { JOBTREE_TOKEN: undefined }),
      JOBTREE_URL: command.url,
      JOBTREE_ITEM_ID: context.itemId,
      JOBTREE_JOB_ID: context.jobId,
      JOBTREE_TYPE: context.type,
      JOBTREE_ATTEMPT: String(context.attempt),
    },
  });
  running.add(child);
  let kill: NodeJS.Timeout | undefined;
  const abort = () => {
    killGroup(child, 'SIGTERM');
    kill = setTimeout(() => killGroup(child, 'SIGKILL'), killAfterMs);
  };
  context.signal.addEventListener('abort', abort);
  if (context.signal.aborted) abort();
  try {
    return await resultOf(child, command.program, payload);
  } finally {
    clearTimeout(kill);
    context.signal.removeEventListener('abort', abort);
    running.delete(child);
  }
}

function resultOf(child: ReturnType<typeof spawn>, program: string, payload: unknown): Promise<unknown> {
  const { stdin, stdout, stderr } = child;
  return new Promise((resolve, reject) => {
    const output: Buffer[] = [];
    let outputLength = 0;
    let complaint = '';
    stdout?.on('data', (chunk: Buffer) => {
      outputLength += chunk.length;
      if (outputLength <= longestOutput) output.push(chunk);
      else killGroup(child, 'SIGKILL');
    });
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-longestMessage);
    });
    stdin?.on('error', () => {}); // a command need not read its input
    stdin?.end(toJson(payload));
    child.on('error', (error) => reject(new CommandFailure('NOT_STARTED', error.message)));
    child.on('close', (code, signal) => {
      const message = complaint.trim();
      if (outputLength > longestOutput) {
        reject(new CommandFailure('OUTPUT_TOO_LONG', `${program} printed more than 64 MB.`));
      } else if (code === 0) {
        resolve(toResult(Buffer.concat(output).toString()));
      } else if (code === permanentExitCode) {
        const failure = new PermanentError(message || `${program} exited with ${code}.`, {
          code: `EXIT_${code}`,
        });
        failure.stack = '';
        reject(failure);
      } else if (signal !== null) {
        reject(new CommandFailure(signal, message || `${program} was ended by ${signal}.`));
      } else {
        reject(new CommandFailure(`EXIT_${code}`, message || `${program} exited with ${code}.`));
      }
    });
  });
}

function toResult(output: string): unknown {
  const text = output.trim();
  if (text === '') return null;
  try {
    return fromJson(text);
  } catch {
    return text;
  }
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}
