/**
 * jobtree-client/react: shows in components how far jobs are. Components that show the same job or tree share one subscription,
 * those that show jobs of one tree share its token, and all components of a page share one connection, on which each subscription
 * sends the token of its tree. A subscription begins with the first component and ends a second after the last one, so a
 * component that is only moved, or mounted twice as in strict mode, continues where it was.
 */
import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react';
import { Credentials, type Token } from './credentials.ts';
import { endpoint } from './endpoint.ts';
import { JobtreeError } from './errors.ts';
import { type Operations, Socket } from './socket.ts';
import type { JobProgress, JobTreeProgress } from './types.ts';
import { endedBy } from './watch.ts';
import { watchJob, watchTree } from './watches.ts';

export { type ClientErrorCode, JobtreeError } from './errors.ts';
export type { JobProgress, JobTreeProgress, Token };

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

/** What a component can show. */
export interface WatchState<T> {
  /** The newest state, also while the connection is lost; undefined until the first state arrives. */
  readonly progress?: T;
  /** Why nothing more comes: there is no such job, or the server refuses the token for good. */
  readonly error?: JobtreeError;
}

/** Follows a job: its current state, then newer ones, and the final one last. */
export function useJobProgress(jobId: string, options: UseProgressOptions = {}): WatchState<JobProgress> {
  return useWatch(watchJob, 'job', jobId, options);
}

/** Follows a tree with all its jobs, by its root. */
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
  // Declared before the effect that subscribes, so that the subscription finds the newest token.
  useEffect(() => {
    latest.current = token;
  });
  // Components without a token share a connection that sends none.
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

/** One WebSocket, and the watches on it. */
class Connection {
  readonly #url: string | undefined;
  readonly #onEnd: () => void;
  readonly #watches = new Map<string, SharedWatch<unknown>>();
  /** By root. */
  readonly #trees = new Map<string, Tree>();
  #socket: Socket | undefined;

  constructor(url: string | undefined, onEnd: () => void) {
    this.#url = url;
    this.#onEnd = onEnd;
  }

  stateOf(shown: string): WatchState<unknown> | undefined {
    return this.#watches.get(shown)?.state;
  }

  /** Returns a function that leaves the watch. */
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
      // The last token of the tree stays, since the watch lingers and may ask for it.
      if (tree.tokens.size > 1) tree.tokens.delete(token);
      leave();
    };
  }

  /** @throws JobtreeError INVALID_INPUT if the URL is not valid */
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

/** The credentials of a tree, and how many watches use them. */
class Tree {
  /** The tokens of the components that watch; the last one is asked. */
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

/** A subscription that several components show. */
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
    // Wrapped, since the same function may join twice.
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
      const { signal } = this.#ending;
      for await (const progress of endedBy(signal, begin(signal))) this.#show({ progress });
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
