/** Asks for a key where the server refuses strangers. */
import { useState } from 'react';
import { signedInWith, signIn } from '../data/connection.ts';
import { useTexts } from '../texts/texts.ts';

export function SignIn({ reason }: { reason: string }) {
  const t = useTexts();
  const [token, setToken] = useState('');
  return (
    <form
      className="sign-in"
      onSubmit={(event) => {
        event.preventDefault();
        signIn(token.trim());
      }}
    >
      <h2>{t.signIn.title}</h2>
      <p>{signedInWith() === undefined ? t.signIn.why : reason}</p>
      <label>
        {t.signIn.token}
        <input
          type="password"
          autoComplete="off"
          required
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
      </label>
      <button type="submit">{t.signIn.submit}</button>
    </form>
  );
}
