/**
 * Subscriptions that last as long as what shows them. Each keeps one state, which every event replaces or completes; components that show the same
 * share it. While the page is paused nothing is applied, and when it goes on everything is read again.
 */
import { useCallback, useRef, useSyncExternalStore } from 'react';
import type { Document } from '../../client/document.ts';
import { JobtreeError } from '../../client/errors.ts';
import { endedBy, watch } from '../../client/watch.ts';
import { socket } from './connection.ts';

export interface Live<T> {
  readonly value?: T;
  readonly error?: JobtreeError;
}

/** What is subscribed, and how its events become a state. */
export interface LiveSource<R, V, T> {
  readonly document: Document<R, V>;
  /** Called for each connection, with the state that is known by then. */
  variables(known: T | undefined): V;
  /** The state after an event, or the same if it brings nothing new. */
  next(known: T | undefined, data: R): T;
  isFinal?(value: T): boolean;
  /** Whether each event is a whole answer, which is asked for again after a change of one's own. */
  readonly isAnswer?: boolean;
}

/** Whether what is shown is live, and since when not. */
export interface Freshness {
  readonly isPaused: boolean;
  readonly pausedAt?: number;
  /** Since when the server has been away. */
  readonly awaySince?: number;
}

const lingerMs = 1_000;
const nothing: Live<never> = Object.freeze({});
const shown = new Map<string, Shown>();
const listeners = new Set<() => void>();
let freshness: Freshness = { isPaused: false };

function setFreshness(next: Freshness): void {
  freshness = next;
  for (const listener of listeners) listener();
}

export function useFreshness(): Freshness {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => freshness,
  );
}

/** Ends all subscriptions, or begins them again. */
export function pause(isPaused: boolean): void {
  setFreshness(isPaused ? { isPaused, pausedAt: Date.now() } : { isPaused });
  for (const one of shown.values()) one.restart();
}

/** Asks again for what is shown, after a change of one's own; what was over, or was refused, may go on by it. */
export function askAgain(): void {
  for (const one of shown.values()) if (one.isAnswer || one.isOver) one.restart();
}

/** Begins again what was over. */
export function goOn(key: string): void {
  const one = shown.get(key);
  if (one?.isOver) one.restart();
}

/** `key` names what is shown, and so stands for the source, which may be another object at each render; undefined subscribes to nothing. */
export function useLive<R, V, T>(key: string | undefined, source: LiveSource<R, V, T>): Live<T> {
  const latest = useRef(source);
  latest.current = source;
  const subscribe = useCallback(
    (listener: () => void) => {
      if (key === undefined) return () => {};
      let one = shown.get(key);
      if (one === undefined) {
        one = new Shown(latest.current as LiveSource<unknown, unknown, unknown>, () => shown.delete(key));
        shown.set(key, one);
      }
      return one.join(listener);
    },
    [key],
  );
  return useSyncExternalStore(subscribe, () =>
    key === undefined ? nothing : ((shown.get(key)?.state ?? nothing) as Live<T>),
  );
}

/** What changed since the page was last drawn: however many events come, it is drawn once for all of them. */
const changed = new Set<Shown>();

function tellChanged(): void {
  const told = [...changed];
  changed.clear();
  for (const one of told) one.tell();
}

class Shown {
  state: Live<unknown> = nothing;
  readonly #source: LiveSource<unknown, unknown, unknown>;
  readonly #onEnd: () => void;
  readonly #listeners = new Set<() => void>();
  #ending = new AbortController();
  #isOver = false;
  #linger: ReturnType<typeof setTimeout> | undefined;

  constructor(source: LiveSource<unknown, unknown, unknown>, onEnd: () => void) {
    this.#source = source;
    this.#onEnd = onEnd;
    this.restart();
  }

  join(listener: () => void): () => void {
    clearTimeout(this.#linger);
    const own = () => listener();
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      // A row that is only moved, or a screen that is opened again at once, goes on where it was.
      this.#linger = setTimeout(() => {
        this.#ending.abort();
        this.#onEnd();
      }, lingerMs);
    };
  }

  get isAnswer(): boolean {
    return this.#source.isAnswer === true;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  restart(): void {
    this.#isOver = false;
    this.#ending.abort();
    this.#ending = new AbortController();
    // While updates are paused, what was not shown yet is read once.
    if (!freshness.isPaused || this.state.value === undefined) void this.#follow(this.#ending.signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { document, variables, next, isFinal = () => false } = this.#source;
    const watched = {
      take: (data: unknown) => {
        // Whoever had noticed that the server is away may be gone by now.
        if (freshness.awaySince !== undefined) setFreshness({ isPaused: freshness.isPaused });
        return next(this.state.value, data);
      },
      isFinal: (value: unknown) => freshness.isPaused || isFinal(value),
      onDisconnected: () => setFreshness({ ...freshness, awaySince: freshness.awaySince ?? Date.now() }),
    };
    try {
      const states = watch(socket, document, () => variables(this.state.value), watched, signal);
      for await (const value of endedBy(signal, states)) this.#show({ value });
      this.#isOver = !signal.aborted && !freshness.isPaused;
    } catch (error) {
      if (!(error instanceof JobtreeError)) throw error;
      this.#isOver = true;
      this.#show({ ...this.state, error });
    }
  }

  #show(state: Live<unknown>): void {
    this.state = state;
    changed.add(this);
    // A page that nobody sees is not drawn.
    if (document.hidden) tellChanged();
    else if (changed.size === 1) requestAnimationFrame(tellChanged);
  }

  tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
