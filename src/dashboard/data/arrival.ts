/** The page that the issuer sends people back to, with its answer in the URL, and the window in which somebody signs in again. */
import { JobtreeError } from '../../client/errors.ts';
import { checkToken } from './connection.ts';
import { begin, besidePrefix, complete, type Problem, SignInError, takePending } from './open-id.ts';
import { keep } from './session.ts';
import type { Session } from './sign-in-ways.ts';

const problemKey = 'jobtree-sign-in-problem';

/** Why the last sign-in of this tab failed, said once. */
export const lastProblem = takeProblem();

export async function arrive(): Promise<void> {
  const { hash, search, pathname } = location;
  if (hash.startsWith(`#${besidePrefix}`)) {
    const problem = await begin(hash).catch(problemOf);
    if (problem !== undefined) answer(hash, { problem });
    return;
  }
  const pending = takePending();
  const from = pending?.from ?? '';
  let outcome: Session | { problem: Problem };
  try {
    outcome = await complete(pending, new URLSearchParams(search));
    await checkToken(outcome.token);
  } catch (error) {
    outcome = { problem: problemOf(error) };
  }
  if (from.startsWith(`#${besidePrefix}`)) return answer(from, outcome);
  if ('problem' in outcome) sessionStorage.setItem(problemKey, JSON.stringify(outcome.problem));
  else keep(outcome);
  // Without the code, which is not to stay in the history.
  location.replace(`${pathname}${from || '#/'}`);
}

/** Tells the page that opened this window, which then goes on. */
function answer(hash: string, outcome: Session | { problem: Problem }): void {
  new BroadcastChannel(hash.slice(besidePrefix.length + 1)).postMessage(outcome);
  close();
}

export function problemOf(error: unknown): Problem {
  if (error instanceof SignInError) return error.problem;
  if (error instanceof JobtreeError) return { kind: 'server', detail: error.message };
  throw error;
}

function takeProblem(): Problem | undefined {
  const kept = sessionStorage.getItem(problemKey);
  sessionStorage.removeItem(problemKey);
  return kept === null ? undefined : JSON.parse(kept);
}
