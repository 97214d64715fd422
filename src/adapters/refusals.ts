/** Finds jobtree's refusal in an error of the caller's library; other errors stay as they are. */
import { JobtreeError } from '../client/errors.ts';

/** The fields of a Postgres error; some libraries pass on fewer. */
interface PostgresError {
  readonly code: string;
  readonly message: string;
  readonly column?: string | undefined;
}

type Code = ConstructorParameters<typeof JobtreeError>[0];

const codes: Readonly<Record<string, Code>> = {
  JT001: 'NOT_FOUND',
  JT002: 'INVALID_INPUT',
  JT003: 'JOB_SEALED',
  JT004: 'JOB_FED_BY_PARENT',
  // Postgres's codes for values that are out of bounds.
  '22003': 'INVALID_INPUT',
  '22007': 'INVALID_INPUT',
  '22008': 'INVALID_INPUT',
  '22P02': 'INVALID_INPUT',
  '22P05': 'INVALID_INPUT',
  '23514': 'INVALID_INPUT',
  '54001': 'INVALID_INPUT',
  // The caller's lock_timeout has expired.
  '55P03': 'BUSY',
};

/** @param before how many items earlier statements of the same call took: error messages count from there */
export function asRefusal(error: unknown, before: number): unknown {
  const found = find(error);
  const code = found && codes[found.code];
  if (found === undefined || code === undefined) return error;
  const shift = (text: string) =>
    text.replace(/^items\[(\d+)\]/, (_, n: string) => `items[${before + Number(n)}]`);
  return new JobtreeError(code, shift(found.message), {
    field: found.column && shift(found.column),
    cause: error,
  });
}

/** Libraries wrap the error: in `cause`, Prisma in `meta.driverAdapterError`; postgres.js names its fields as the protocol does. */
function find(error: unknown): PostgresError | undefined {
  let at = error;
  for (let depth = 0; depth < 8 && typeof at === 'object' && at !== null; depth++) {
    const { code, originalCode, message, originalMessage, column, column_name, cause, meta } = at as {
      [key: string]: unknown;
      meta?: { driverAdapterError?: unknown };
    };
    const state = typeof originalCode === 'string' ? originalCode : code;
    if (typeof state === 'string' && /^[\dA-Z]{5}$/.test(state) && !/^P\d{4}$/.test(state)) {
      const text = typeof originalMessage === 'string' ? originalMessage : String(message);
      const field = column ?? column_name;
      return { code: state, message: text, column: typeof field === 'string' ? field : undefined };
    }
    at = meta?.driverAdapterError ?? cause;
  }
  return undefined;
}
