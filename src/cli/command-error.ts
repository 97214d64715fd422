/** Errors on their way out: one clear line, and the exit code that fits. */
import { JobtreeError } from '../client/index.ts';
import { paint } from './colours.ts';
import { exitCodes } from './exit-codes.ts';
import { visible } from './output.ts';
import { fitted } from './width.ts';

/** What a command has to say before it ends with a code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Prints why the command ends, and gives its exit code. */
export function reportError(error: unknown): number {
  const { text, exitCode } = describeError(error);
  printComplaint(text);
  if (isDebugging()) process.stderr.write(`${visible((error as Error | undefined)?.stack ?? '')}\n`);
  return exitCode;
}

/** With our name in front, in red where there are colours. */
export function printComplaint(text: string): void {
  const lines = fitted(`jobtree: ${visible(text)}`, process.stderr).slice('jobtree:'.length);
  process.stderr.write(`${paint('red', 'jobtree:', process.stderr)}${lines}\n`);
}

/** What nobody has caught, in a command that has no log for it. */
export function reportFault(error: unknown): void {
  process.exit(reportError(error));
}

/** Stack traces are for those who ask for them. */
function isDebugging(): boolean {
  return !['', '0', 'false', undefined].includes(process.env.JOBTREE_DEBUG);
}

/** What to tell a person, and how to tell a script. */
export function describeError(error: unknown): { text: string; exitCode: number } {
  if (error instanceof CommandError) return { text: error.message, exitCode: error.exitCode };
  if (error instanceof JobtreeError && error.code === 'UNAUTHENTICATED')
    return { text: hint(error), exitCode: exitCodes.failure };
  if (error instanceof JobtreeError && error.code === 'FORBIDDEN')
    return { text: `${ofCommand(error)}${hintOfKey()}`, exitCode: exitCodes.failure };
  if (error instanceof JobtreeError)
    return { text: `${error.message}${hintOfServer(error)}`, exitCode: codeFor(error) };
  const { name, message, code } = (error ?? {}) as Record<string, string | undefined>;
  // These come from modules that only `start`, `migrate` and `demo` load.
  if (name === 'ConfigError') return { text: message ?? '', exitCode: exitCodes.usage };
  if (name === 'EmbeddedPostgresError' || name === 'MigrationError' || name === 'ListenError') {
    return { text: message ?? '', exitCode: exitCodes.failure };
  }
  if (code === 'EADDRINUSE') {
    const { address, port } = error as { address?: string | null; port?: number };
    const where = address == null ? '' : ` of ${address}`;
    const text = `Another program uses port ${port}${where}: stop it, or set JOBTREE_PORT to another port.`;
    return { text, exitCode: exitCodes.failure };
  }
  const certificate = certificateProblem(error);
  if (certificate !== undefined) return { text: certificate, exitCode: exitCodes.unreachable };
  // Postgres is full, starts, ends or was ended, or the connection to it broke.
  if (code === '53300' || /^(57P0[123]|08...)$/.test(code ?? '') || name === 'UnavailableError')
    return { text: `Can't connect to Postgres: ${reason(error)}`, exitCode: exitCodes.unreachable };
  if (isConnectionLoss(code))
    return { text: `Can't connect to Postgres${placeOf(error)}: ${code}.`, exitCode: exitCodes.unreachable };
  const known = isDebugging() ? '' : ' (JOBTREE_DEBUG=1 shows where.)';
  return { text: `${message || String(error)}${known}`, exitCode: exitCodes.failure };
}

/** An option would stand in the list of processes, for all who use the machine. */
function hint({ message }: JobtreeError): string {
  return process.env.JOBTREE_TOKEN
    ? `The server refuses the key in JOBTREE_TOKEN. ${message}`
    : 'The server requires a key: set JOBTREE_TOKEN to one.';
}

/** The server names the operation of the API that it refuses, which is not what people asked for. */
function ofCommand({ message }: JobtreeError): string {
  return message.replace(/^[\w/ ]+(?= (needs the role|is not allowed) )/, 'This');
}

/** People have a command and a key. */
function hintOfKey(): string {
  const token = process.env.JOBTREE_TOKEN ?? '';
  if (token.startsWith('jobtree_watch_'))
    return ' JOBTREE_TOKEN has a watch token, which is for web pages: commands need an API key.';
  return token === '' ? '' : ' The key is the one in JOBTREE_TOKEN.';
}

/** Nothing listens there: usually because no server was started. */
function hintOfServer({ code, message }: JobtreeError): string {
  const isRefused = code === 'UNREACHABLE' && message.endsWith(': ECONNREFUSED.');
  return isRefused ? ' To start a server: `jobtree start`. To use another one: --url, or JOBTREE_URL.' : '';
}

/** Of Postgres: the client has its own words for servers. */
function certificateProblem(error: unknown): string | undefined {
  const cause = ((error as Error | undefined)?.cause ?? error) as
    | { message?: string; code?: string }
    | undefined;
  const { message = '', code = '' } = cause ?? {};
  if (message === 'The server does not support SSL connections')
    return 'DATABASE_URL asks for TLS (sslmode), but this Postgres does not support it.';
  if (!/^(CERT_|ERR_TLS_CERT|UNABLE_TO_|(DEPTH_ZERO_)?SELF_SIGNED_CERT)/.test(code)) return undefined;
  return `The certificate of Postgres is not trusted: ${message}. It must be for the host in DATABASE_URL, and signed by an authority that this machine trusts. sslrootcert in DATABASE_URL, or NODE_EXTRA_CA_CERTS, can name a PEM file with others.`;
}

/** Where it was tried, if the error says so. */
function placeOf(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const { address, port, hostname } = (first ?? {}) as Record<string, string | number | undefined>;
  if (address !== undefined) return ` at ${address}${port === undefined ? '' : `:${port}`}`;
  return hostname === undefined ? '' : ` at ${hostname}`;
}

/** What Postgres itself said, if it did. */
function reason(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message : message;
}

function codeFor(error: JobtreeError): number {
  switch (error.code) {
    case 'NOT_FOUND':
      return exitCodes.notFound;
    case 'UNREACHABLE':
      return exitCodes.unreachable;
    case 'INVALID_INPUT':
      return exitCodes.usage;
    default:
      return exitCodes.failure;
  }
}

function isConnectionLoss(code: string | undefined): code is string {
  return ['ECONNREFUSED', 'ENOTFOUND', 'ECONNRESET', 'ETIMEDOUT', 'EHOSTUNREACH', 'EAI_AGAIN'].includes(
    code ?? '',
  );
}
