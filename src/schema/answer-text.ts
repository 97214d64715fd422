/**
 * The last look at an answer before it becomes text. Resolvers measure what is known to be large before they read it
 * (`answer-size.ts`); here all text counts, however small each piece is and under however many aliases it stands: so that
 * writing the answer can't take seconds, or more than a text can hold.
 */
import { type ExecutionResult, GraphQLError } from 'graphql';
import { stringify } from '../domain/json-text.ts';
import { measured, textLength } from './answer-size.ts';
import { limitExceeded } from './limit-exceeded.ts';
import type { Services } from './services.ts';

/** An answer with more text than this is written once to see whether it can be: characters that are escaped take six times their room. */
const surelyWritable = 50_000_000;
/** As many as an operation can have aliases; the same is wrong with what comes after. */
const maxErrors = 100;

/** The answer, or in its place the refusal of it, if its text is too long. */
export function boundAnswer(
  answer: ExecutionResult,
  context: Services,
  isMutation: boolean,
): ExecutionResult {
  // What was measured is within its own limit, and one item alone may be beyond it.
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
