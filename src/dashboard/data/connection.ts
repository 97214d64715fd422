/** How the dashboard talks to its server: requests over HTTP, everything live over one WebSocket. */
import { Credentials } from '../../client/credentials.ts';
import type { Document } from '../../client/document.ts';
import { Http } from '../../client/http.ts';
import { createPost } from '../../client/post.ts';
import { Socket } from '../../client/socket.ts';

const tokenKey = 'jobtree-token';

/** The page is under /dashboard/, behind whatever prefix a proxy puts before it. */
export const url = new URL('../graphql', document.baseURI).href;

/** Kept for this tab only, and never in a cookie. */
export const signedInWith = () => sessionStorage.getItem(tokenKey) ?? undefined;

/** Begins again with another token, or without one: nothing that the last caller saw stays. */
export function signIn(token: string | undefined): void {
  if (token === undefined) sessionStorage.removeItem(tokenKey);
  else sessionStorage.setItem(tokenKey, token);
  location.reload();
}

export const credentials = new Credentials({}, signedInWith());
const http = new Http({
  url,
  credentials,
  post: createPost(undefined),
  retryMs: 5_000,
  timeoutMs: 30_000,
  onRetry: undefined,
});
export const socket = new Socket({ url, headers: {}, credentials, webSocketImpl: undefined });

/** @throws JobtreeError why there is no answer, or what the server refuses */
export function ask<R, V>(document: Document<R, V>, variables: V, signal?: AbortSignal): Promise<R> {
  return http.request(document, variables, { repeatable: true, signal });
}

/** Something that changes: it is sent once, and not again if its answer is lost. */
export function tell<R, V>(document: Document<R, V>, variables: V): Promise<R> {
  return http.request(document, variables, { repeatable: false });
}
