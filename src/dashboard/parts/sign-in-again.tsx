/** When the server takes the reader's token no more: everything waits, and stays on the screen, until they have signed in again. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useId, useRef } from 'react';
import type { ViewerQuery } from '../../generated/dashboard-first.ts';
import { checkToken } from '../data/connection.ts';
import { goOn, signIn } from '../data/session.ts';
import type { Session } from '../data/sign-in-ways.ts';
import { useTexts } from '../texts/all.ts';
import SignIn from './sign-in.tsx';

export default function SignInAgain() {
  const t = useTexts();
  const queries = useQueryClient();
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const take = async (next: Session) => {
    const { viewer } = await checkToken(next.token);
    const last = queries.getQueryData<ViewerQuery>(['viewer'])?.viewer;
    const isSame = last?.name === viewer?.name && last?.tenant === viewer?.tenant;
    // What somebody else has seen is not for this person.
    if (last != null && !isSame) return signIn(next);
    goOn(next);
    await queries.invalidateQueries();
  };
  return (
    <>
      <button type="button" className="danger" onClick={() => dialog.current?.showModal()}>
        {t.signIn.again}
      </button>
      <dialog ref={dialog} aria-labelledby={title}>
        <h2 id={title}>{t.signIn.again}</h2>
        <p>{t.signIn.over}</p>
        <SignIn onSession={take} />
        <div className="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            {t.cancel}
          </button>
        </div>
      </dialog>
    </>
  );
}
