/**
 * The last check of an answer before it is serialized. Resolvers measure data known to be large before they read it
 * (`answer-size.ts`); here all text counts, however small the pieces and however many aliases repeat them, so that serializing
 * the answer can't take seconds, or exceed the length of a string.
 */
import { type ExecutionResult, GraphQLError } from 'graphql';
import { stringify } from '../../domain/values/json-text.ts';
import { measured, textLength } from './answer-size.ts';
import { limitExceeded } from './limit-exceeded.ts';
import type { Services } from './services.ts';

/** An answer with more text than this is serialized once as a test, since escaped characters take six times the space. */
const surelyWritable = 50_000_000;
/** As many as an operation can have aliases; further errors repeat the same problem. */
const maxErrors = 100;

/** Returns the answer, or a refusal instead if its text is too long. */
export function boundAnswer(
  answer: ExecutionResult,
  context: Services,
  isMutation: boolean,
): ExecutionResult {
  // Measured data has its own limit, which a single item may exceed.
  const { bytes, isOverflown } = measured(context);
  const most = context.maxAnswerBytes + bytes;
  const length = textLength(answer.data, most);
  if (!isOverflown && length <= most && (length <= surelyWritable || canBeWritten(answer))) {
    const { errors } = answer;
    if (errors === undefined || errors.length <= maxErrors) return answer;
    return { ...answer, errors: errors.slice(0, maxErrors) };
  }
  const done = isMutation ? ' What the mutation did stands, only its answer is left out.' : '';
  const { message, extensions } = limitExceeded(
    'bytes',
    'The answer has too much text; ask for fewer jobs or items, or for less of each',
    context.maxAnswerBytes,
  );
  return { errors: [new GraphQLError(message + done, { extensions })] };
}

function canBeWritten(answer: ExecutionResult): boolean {
  try {
    stringify(answer);
    return true;
  } catch {
    return false;
  }
}
