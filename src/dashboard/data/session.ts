/**
 * Who has signed in, in this tab: kept until the tab is closed, and never in a cookie. When the server refuses the token, everything waits for the next
 * one, so that nothing on the screen is lost: a new one of the issuer, or whatever the person then signs in with.
 */
import { useSyncExternalStore } from 'react';
import type { Session } from './sign-in-ways.ts';

const sessionKey = 'jobtree-session';

export function session(): Session | undefined {
  const kept = sessionStorage.getItem(sessionKey);
  return kept === null ? undefined : JSON.parse(kept);
}

export const keep = (next: Session) => sessionStorage.setItem(sessionKey, JSON.stringify(next));

/** Whether it goes on by itself when its token expires. */
export const isRenewable = () => session()?.openId?.refreshToken !== undefined;

/** Begins again with another session: nothing that the last caller saw stays. */
export function signIn(next: Session): void {
  keep(next);
  location.reload();
}

export async function signOut(): Promise<void> {
  const last = session();
  sessionStorage.removeItem(sessionKey);
  if (last?.openId !== undefined) await (await import('./open-id.ts')).endSession(last);
  location.reload();
}

/** Called with the next session, once the person has signed in again. */
let resume: ((next: Session) => void) | undefined;
const listeners = new Set<() => void>();

/** Whether everything waits until the person signs in again. */
export function useIsOver(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => resume !== undefined,
  );
}

function setResume(next: typeof resume): void {
  resume = next;
  for (const listener of listeners) listener();
}

export function goOn(next: Session): void {
  keep(next);
  resume?.(next);
  setResume(undefined);
}

let isRefused = false;

/** The token that was kept; called again, the server has refused it, and there must be another one. */
export async function nextToken(): Promise<string> {
  const kept = session();
  if (!isRefused && kept !== undefined) {
    isRefused = true;
    return kept.token;
  }
  if (kept?.openId?.refreshToken !== undefined) {
    const { renew } = await import('./open-id.ts');
    const next = await renew(kept).catch(() => undefined);
    if (next !== undefined) {
      keep(next);
      return next.token;
    }
  }
  const { token } = await new Promise<Session>(setResume);
  return token;
}
