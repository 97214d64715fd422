/**
 * What the components of a page share: those that show the same job or tree share one subscription, those that show jobs of one tree share its
 * token, and all of them share one connection, on which each subscription sends the token of its tree. A subscription begins with the first
 * component and ends a second after the last one, so a component that is only moved, or mounted twice, continues where it was.
 */
import { Credentials, type Token } from './credentials.ts';
import { endpoint } from './endpoint.ts';
import { JobtreeError } from './errors.ts';
import { type Operations, Socket } from './socket.ts';
import { endedBy } from './watch.ts';
import type { Hooks } from './watches.ts';

/** What a component can show. */
export interface WatchState<T> {
  /** The newest state, also while the connection is lost; undefined until the first state arrives. */
  readonly progress?: T;
  /** Why nothing more comes: there is no such job, or the server refuses the token for good. */
  readonly error?: JobtreeError;
  /** Since when the server has been away, by the clock of this machine; undefined while the connection stands. */
  readonly disconnectedAt?: Date;
}

/** The token of a component, which may be another one at each call. */
export type TokenRef = { readonly current: Token | undefined };

/** What is watched, and where. */
export interface Watched<T> {
  readonly url: string | undefined;
  /** Whether the server gets a token. */
  readonly isAsked: boolean;
  readonly rootId: string;
  /** The id of the job, or of the root. */
  readonly id: string;
  readonly kind: 'job' | 'tree';
  begin(socket: Operations, id: string, signal: AbortSignal, hooks: Hooks): AsyncIterable<T>;
}

const lingerMs = 1_000;
const nothing: WatchState<never> = Object.freeze({});
const connections = new Map<string, Connection>();

/** Components without a token share a connection that sends none. */
const placeOf = ({ isAsked, url }: Watched<unknown>) => `${isAsked ? 'asked' : 'open'} ${url ?? ''}`;
const nameOf = ({ rootId, kind, id }: Watched<unknown>) => `${rootId} ${kind} ${id}`;

/** Calls the listener at each change, until the returned function is called. */
export function join<T>(watched: Watched<T>, token: TokenRef, onChange: () => void): () => void {
  const { url, rootId, id, begin } = watched;
  const place = placeOf(watched);
  let connection = connections.get(place);
  if (connection === undefined) {
    connection = new Connection(url, () => connections.delete(place));
    connections.set(place, connection);
  }
  return connection.join(
    nameOf(watched),
    (socket, signal, hooks) => begin(socket, id, signal, hooks),
    { rootId, token },
    onChange,
  );
}

export function stateOf<T>(watched: Watched<T>): WatchState<T> {
  const state = connections.get(placeOf(watched))?.stateOf(nameOf(watched));
  return (state ?? nothing) as WatchState<T>;
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
    begin: (socket: Operations, signal: AbortSignal, hooks: Hooks) => AsyncIterable<unknown>,
    { rootId, token }: { readonly rootId: string; readonly token: TokenRef },
    onChange: () => void,
  ): () => void {
    const tree = this.#trees.get(rootId) ?? new Tree();
    this.#trees.set(rootId, tree);
    tree.tokens.add(token);
    let watch = this.#watches.get(shown);
    if (watch === undefined) {
      tree.watches++;
      watch = new SharedWatch((signal, hooks) => begin(this.#open(tree), signal, hooks));
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
  readonly #begin: (signal: AbortSignal, hooks: Hooks) => AsyncIterable<T>;
  readonly #listeners = new Set<() => void>();
  readonly #ending = new AbortController();
  #linger: ReturnType<typeof setTimeout> | undefined;

  constructor(begin: (signal: AbortSignal, hooks: Hooks) => AsyncIterable<T>) {
    this.#begin = begin;
    void this.#follow();
  }

  /** `onEnd` is called when nobody has joined for a while. */
  join(listener: () => void, onEnd: () => void): () => void {
    clearTimeout(this.#linger);
    if (this.state.error !== undefined) {
      // Whoever joins may have another token.
      const { error: _, ...state } = this.state;
      this.#show(state);
      void this.#follow();
    }
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

  async #follow(): Promise<void> {
    try {
      const { signal } = this.#ending;
      const hooks = {
        onDisconnected: () => this.#show({ ...this.state, disconnectedAt: new Date() }),
        onConnected: () => {
          const { disconnectedAt: _, ...state } = this.state;
          this.#show(state);
        },
      };
      for await (const progress of endedBy(signal, this.#begin(signal, hooks))) this.#show({ progress });
    } catch (error) {
      if (!(error instanceof JobtreeError)) throw error;
      const { disconnectedAt: _, ...state } = this.state;
      this.#show({ ...state, error });
    }
  }

  #show(state: WatchState<T>): void {
    if (this.#ending.signal.aborted) return;
    this.state = state;
    for (const listener of this.#listeners) listener();
  }
}
