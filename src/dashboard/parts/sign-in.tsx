/** Asks who the reader is, in the ways that the server takes: at the issuer of tokens, or by a key. */
import { useId, useState } from 'react';
import { lastProblem, problemOf } from '../data/arrival.ts';
import { checkToken } from '../data/connection.ts';
import { begin, type Problem, SignInError, signInBeside } from '../data/open-id.ts';
import { signIn } from '../data/session.ts';
import { type Session, signInWays } from '../data/sign-in-ways.ts';
import { type Texts, useTexts } from '../texts/all.ts';

const { ways, openId } = signInWays;
const takesKeys = ways.includes('keys') || (ways.includes('jwt') && openId === undefined);

export interface SignInProps {
  /** Why the server refuses what it was shown. */
  readonly reason?: string | undefined;
  /** Given, the page stays as it is, and the issuer's page comes in another window. */
  readonly onSession?: (session: Session) => Promise<void>;
}

export default function SignIn({ reason, onSession }: SignInProps) {
  const t = useTexts();
  const why = useId();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>(lastProblem);
  const carryOut = async (act: () => Promise<void>) => {
    setIsBusy(true);
    setProblem(undefined);
    try {
      await act();
    } catch (error) {
      setProblem(problemOf(error));
    }
    setIsBusy(false);
  };
  const atIssuer = async () => {
    if (onSession === undefined) await begin(location.hash);
    else await onSession(await signInBeside());
  };
  const byKey = async (token: string) => {
    const next = { token };
    await checkToken(next.token).catch((error: Error) => {
      throw new SignInError({ kind: 'key', detail: error.message }, { cause: error });
    });
    if (onSession === undefined) signIn(next);
    else await onSession(next);
  };
  return (
    <section className="sign-in" aria-label={t.signIn.title}>
      {onSession === undefined && <h1>{t.signIn.title}</h1>}
      {openId === undefined && !takesKeys && <p>{t.signIn.byProxy}</p>}
      {problem === undefined && reason !== undefined && <p>{reason}</p>}
      {problem !== undefined && (
        <p role="alert" className="problem" id={why}>
          {inWords(problem, t)}
        </p>
      )}
      {openId !== undefined && (
        <p>
          <button type="button" className="primary" onClick={() => void carryOut(atIssuer)}>
            {t.signIn.at(new URL(openId.issuer).host)}
          </button>
        </p>
      )}
      {takesKeys && (
        <KeyForm
          isBusy={isBusy}
          describedBy={problem && why}
          onKey={(token) => void carryOut(() => byKey(token))}
        />
      )}
    </section>
  );
}

interface KeyFormProps {
  readonly isBusy: boolean;
  readonly describedBy: string | undefined;
  readonly onKey: (token: string) => void;
}

function KeyForm({ isBusy, describedBy, onKey }: KeyFormProps) {
  const t = useTexts();
  const [token, setToken] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onKey(token.trim());
      }}
    >
      <p>{t.signIn.why}</p>
      <label>
        {t.signIn.token}
        <input
          type="password"
          autoComplete="off"
          required
          value={token}
          aria-describedby={describedBy}
          onChange={(event) => setToken(event.target.value)}
        />
      </label>
      <button type="submit" className="primary" disabled={isBusy}>
        {t.signIn.submit}
      </button>
    </form>
  );
}

function inWords(problem: Problem, { signIn: { problems } }: Texts): string {
  return 'detail' in problem ? problems[problem.kind](problem.detail) : problems[problem.kind];
}
