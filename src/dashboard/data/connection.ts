/** How the dashboard talks to its server: requests over HTTP, everything live over one WebSocket. */
import { Credentials } from '../../client/credentials.ts';
import type { Document } from '../../client/document.ts';
import { Http } from '../../client/http.ts';
import { byFetch } from '../../client/post.ts';
import { Socket } from '../../client/socket.ts';
import { Viewer, type ViewerQuery } from '../../generated/dashboard-first.ts';
import { ExactWebSocket, exactly } from './exact-json.ts';
import { nextToken, session } from './session.ts';

/** The page is under /dashboard/, behind whatever prefix a proxy puts before it. */
export const url = new URL('../graphql', document.baseURI).href;

export const credentials = new Credentials({}, session() && nextToken);
const post = exactly(byFetch(fetch));
const httpOf = (shown: Credentials) =>
  new Http({ url, credentials: shown, post, retryMs: 5_000, timeoutMs: 30_000, onRetry: undefined });
const http = httpOf(credentials);
export const socket = new Socket({ url, headers: {}, credentials, webSocketImpl: ExactWebSocket });

/** @throws JobtreeError why there is no answer, or what the server refuses */
export function ask<R, V>(document: Document<R, V>, variables: V, signal?: AbortSignal): Promise<R> {
  return http.request(document, variables, { repeatable: true, signal });
}

/** Something that changes: it is sent once, and not again if its answer is lost; and not if it is no longer wanted once somebody has signed in. */
export function tell<R, V>(document: Document<R, V>, variables: V, isWanted?: () => boolean): Promise<R> {
  return http.request(document, variables, { repeatable: false, isWanted });
}

/** @throws JobtreeError why the server does not take this token */
export function checkToken(token: string): Promise<ViewerQuery> {
  return httpOf(new Credentials({}, token)).request(Viewer, {}, { repeatable: true });
}
