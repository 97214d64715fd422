/**
 * jobtree-client/react: how far jobs are, in components. All that show the same share one subscription, all that show jobs of one tree its token,
 * and all of a page one connection, on which each subscription shows the token of its tree. A subscription begins with the first component and ends a second after the last one, so that what is only moved, or mounted twice as
 * in strict mode, goes on where it was.
 */
import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react';
import { Credentials, type Token } from './credentials.ts';
import { endpoint } from './endpoint.ts';
import { JobtreeError } from './errors.ts';
import { type Operations, Socket } from './socket.ts';
import type { JobProgress, JobTreeProgress } from './types.ts';
import { watchJob, watchTree } from './watches.ts';

export { type ClientErrorCode, JobtreeError } from './errors.ts';
export type { JobProgress, JobTreeProgress, Token };

/** Where the job is, and what opens it. */
export interface UseProgressOptions {
  /** The endpoint; in a page it may be relative to it. Default: `http://127.0.0.1:4000/graphql`. */
  readonly url?: string | undefined;
  /**
   * What shows who you are, where the server asks: a watch token, or a function that gets one from your own server. The function is asked before
   * anything of the tree is watched, and again when the server refuses what it gave before, or that is over: what is shown then goes on where it
   * was. A function that fails is asked again after a while. It need not be the same one at each render. Default: nothing.
   */
  readonly token?: Token | undefined;
  /**
   * The root of the tree, whose token opens the job too: what is shown of jobs with the same one shares a token. Default: the
   * job itself.
   */
  readonly rootId?: string | undefined;
}

/** What there is to show. */
export interface WatchState<T> {
  /** Undefined until the first state is there; then the newest one, also while the connection is lost. */
  readonly progress?: T;
  /** Why nothing more comes: there is no such job, or the server refuses the token for good. */
  readonly error?: JobtreeError;
}

/** How far a job is: its state now, then newer ones, at last the final one. */
export function useJobProgress(jobId: string, options: UseProgressOptions = {}): WatchState<JobProgress> {
  return useWatch(watchJob, 'job', jobId, options);
}

/** How far a tree is, with all its jobs, by its root. */
export function useJobTreeProgress(
  rootId: string,
  options: Omit<UseProgressOptions, 'rootId'> = {},
): WatchState<JobTreeProgress> {
  return useWatch(watchTree, 'tree', rootId, options);
}

type Watch<T> = (socket: Operations, id: string, signal: AbortSignal) => AsyncGenerator<T, void, undefined>;
type TokenRef = { readonly current: Token | undefined };

const lingerMs = 1_000;
const nothing: WatchState<never> = Object.freeze({});
const connections = new Map<string, Connection>();

function useWatch<T>(watch: Watch<T>, kind: string, id: string, options: UseProgressOptions): WatchState<T> {
  const { url, token, rootId = id } = options;
  const latest = useRef(token);
  // Before what asks for it.
  useEffect(() => {
    latest.current = token;
  });
  // What shows nothing has a connection that shows nothing.
  const place = `${token === undefined ? 'open' : 'asked'} ${url ?? ''}`;
  const shown = `${rootId} ${kind} ${id}`;
  const subscribe = useCallback(
    (onChange: () => void) => {
      let connection = connections.get(place);
      if (connection === undefined) {
        connection = new Connection(url, () => connections.delete(place));
        connections.set(place, connection);
      }
      const tree = { rootId, token: latest };
      return connection.join(shown, (socket, signal) => watch(socket, id, signal), tree, onChange);
    },
    [place, shown, url, id, rootId, watch],
  );
  const current = useCallback(
    () => (connections.get(place)?.stateOf(shown) ?? nothing) as WatchState<T>,
    [place, shown],
  );
  return useSyncExternalStore(subscribe, current, () => nothing);
}

/** One WebSocket, and what is watched over it. */
class Connection {
  readonly #url: string | undefined;
  readonly #onEnd: () => void;
  readonly #watches = new Map<string, SharedWatch<unknown>>();
  /** By their roots. */
  readonly #trees = new Map<string, Tree>();
  #socket: Socket | undefined;

  constructor(url: string | undefined, onEnd: () => void) {
    this.#url = url;
    this.#onEnd = onEnd;
  }

  stateOf(shown: string): WatchState<unknown> | undefined {
    return this.#watches.get(shown)?.state;
  }

  /** Returns what ends it. */
  join(
    shown: string,
    begin: (socket: Operations, signal: AbortSignal) => AsyncIterable<unknown>,
    { rootId, token }: { readonly rootId: string; readonly token: TokenRef },
    onChange: () => void,
  ): () => void {
    const tree = this.#trees.get(rootId) ?? new Tree();
    this.#trees.set(rootId, tree);
    tree.tokens.add(token);
    let watch = this.#watches.get(shown);
    if (watch === undefined) {
      tree.watches++;
      watch = new SharedWatch((signal) => begin(this.#open(tree), signal));
      this.#watches.set(shown, watch);
    }
    const joined = watch;
    const leave = joined.join(onChange, () => {
      this.#watches.delete(shown);
      tree.watches--;
      if (tree.watches === 0) this.#trees.delete(rootId);
      if (this.#watches.size > 0) return;
      this.#onEnd();
      void this.#socket?.close();
    });
    return () => {
      // It is asked as long as nobody else is there who could be.
      if (tree.tokens.size > 1) tree.tokens.delete(token);
      leave();
    };
  }

  /** @throws JobtreeError INVALID_INPUT the address is none */
  #open(tree: Tree): Operations {
    const isAsked = tree.lastToken !== undefined;
    this.#socket ??= new Socket({
      url: endpoint(this.#url),
      headers: {},
      credentials: isAsked ? undefined : new Credentials({}, undefined),
      webSocketImpl: undefined,
    });
    return isAsked ? this.#socket.as(tree.credentials) : this.#socket;
  }
}

/** What opens the jobs of a tree, and for how many watches. */
class Tree {
  /** Of those that watch: the last one is asked. */
  readonly tokens = new Set<TokenRef>();
  readonly credentials = new Credentials({}, () => this.#ask());
  watches = 0;

  get lastToken(): Token | undefined {
    return [...this.tokens].at(-1)?.current;
  }

  #ask(): string | Promise<string> {
    const token = this.lastToken;
    if (token === undefined) throw new JobtreeError('UNAUTHENTICATED', 'There is no token.');
    return typeof token === 'string' ? token : token();
  }
}

/** What several components show. */
class SharedWatch<T> {
  state: WatchState<T> = nothing;
  readonly #listeners = new Set<() => void>();
  readonly #ending = new AbortController();
  #linger: ReturnType<typeof setTimeout> | undefined;

  constructor(begin: (signal: AbortSignal) => AsyncIterable<T>) {
    void this.#follow(begin);
  }

  /** `onEnd` is called when nobody has joined for a while. */
  join(listener: () => void, onEnd: () => void): () => void {
    clearTimeout(this.#linger);
    // The same function may join twice.
    const own = () => listener();
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#linger = setTimeout(() => {
        this.#ending.abort();
        onEnd();
      }, lingerMs);
    };
  }

  async #follow(begin: (signal: AbortSignal) => AsyncIterable<T>): Promise<void> {
    try {
      for await (const progress of begin(this.#ending.signal)) this.#show({ progress });
    } catch (error) {
      if (!(error instanceof JobtreeError)) throw error;
      this.#show({ ...this.state, error });
    }
  }

  #show(state: WatchState<T>): void {
    if (this.#ending.signal.aborted) return;
    this.state = state;
    for (const listener of this.#listeners) listener();
  }
}
