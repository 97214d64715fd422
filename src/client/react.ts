/** jobtree-client/react: shows in components how far jobs are. */
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import type { Token } from './credentials.ts';
import { join, stateOf, type Watched, type WatchState } from './shared-watches.ts';
import type { JobProgress, JobTreeProgress } from './types.ts';
import { watchJob, watchTree } from './watches.ts';

export { type ClientErrorCode, JobtreeError } from './errors.ts';
export type { JobProgress, JobTreeProgress, Token, WatchState };

/** Where the job is, and the token that gives access to it. */
export interface UseProgressOptions {
  /** The URL of the endpoint; in a page it may be relative to the page. Default: `http://127.0.0.1:4000/graphql`. */
  readonly url?: string | undefined;
  /**
   * Shows the server who you are, if it asks: a watch token, or a function that gets one from your own server. The function is
   * called before anything of the tree is watched, and again when the server refuses its last token or that token has expired;
   * progress then continues where it was. A function that fails is called again after a while. It may be another function at each
   * render. Default: none.
   */
  readonly token?: Token | undefined;
  /**
   * The root of the tree, whose token also gives access to the job: components that show jobs of the same root share a token.
   * Default: the job itself.
   */
  readonly rootId?: string | undefined;
}

/** Follows a job: its current state, then newer ones, and the final one last. */
export function useJobProgress(jobId: string, options: UseProgressOptions = {}): WatchState<JobProgress> {
  return useWatch<JobProgress>(watchJob, 'job', jobId, options);
}

/** Follows a tree with all its jobs, by its root. */
export function useJobTreeProgress(
  rootId: string,
  options: Omit<UseProgressOptions, 'rootId'> = {},
): WatchState<JobTreeProgress> {
  return useWatch<JobTreeProgress>(watchTree, 'tree', rootId, options);
}

const nothing: WatchState<never> = Object.freeze({});

function useWatch<T>(
  begin: Watched<T>['begin'],
  kind: Watched<T>['kind'],
  id: string,
  options: UseProgressOptions,
): WatchState<T> {
  const { url, token, rootId = id } = options;
  const latest = useRef(token);
  // Declared before the effect that subscribes, so that the subscription finds the newest token.
  useEffect(() => {
    latest.current = token;
  });
  const isAsked = token !== undefined;
  const watched = useMemo(
    () => ({ url, isAsked, rootId, id, kind, begin }),
    [url, isAsked, rootId, id, kind, begin],
  );
  const subscribe = useCallback((onChange: () => void) => join(watched, latest, onChange), [watched]);
  const current = useCallback(() => stateOf(watched), [watched]);
  return useSyncExternalStore(subscribe, current, () => nothing);
}
