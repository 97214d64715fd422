/**
 * The action whose dialog is open. The dialog is not where its button is, but above all screens, so it stays when what the button belongs to goes: a row
 * of a live list, a standstill that has ended, an item that is no longer failed.
 */
import { type ReactNode, useLayoutEffect, useRef, useSyncExternalStore } from 'react';
import type { Document } from '../../client/document.ts';
import type { OperationStateFragment, Permission } from '../../generated/dashboard.ts';
import type { Reverse } from './undo.tsx';

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** The payload of a mutation's one field, or what it refuses. */
export type Told = { readonly operation?: OperationStateFragment } | Refusal | null | undefined;

export interface ActionProps<V> {
  readonly label: string;
  /** Who may not is not shown the button. */
  readonly needs: Permission;
  readonly mutation: Document<unknown, V>;
  readonly variables: () => V;
  /** What is asked, with the count. Drawn when the dialog is open, so that it may ask the server. */
  readonly question: ReactNode;
  /** To be filled in even if the button is gone meanwhile: see `useDraft`. */
  readonly fields?: ReactNode;
  /** The same on the command line. */
  readonly command?: (() => string) | undefined;
  readonly danger?: boolean;
  /** The letter that presses it: see parts/keyboard.ts. */
  readonly shortcut?: 'e' | 'r' | 'x';
  readonly onDone?: () => void;
  /** Why nothing was done though it was not refused, such as for the one entry of a batch. */
  readonly refusalOf?: (payload: never) => string | undefined;
  /** What would undo it, by what is so before it is carried out; only if that is exact. */
  readonly undo?: () => Reverse | undefined;
  /** Shown in the dialog, which then stays open, once it is done: from the payload. */
  readonly result?: (payload: never) => ReactNode;
}

interface Opened {
  /** The button; another one may have the same action. */
  readonly owner: object;
  readonly number: number;
  readonly action: ActionProps<unknown>;
}

let opened: Opened | undefined;
let last = 0;
const listeners = new Set<() => void>();

function show(next: Opened | undefined): void {
  opened = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useOpened = () => useSyncExternalStore(subscribe, () => opened);

/** A dialog tells late that it was closed, when another may be open. */
export function closeAction(number: number): void {
  if (opened?.number === number) show(undefined);
}

/** Returns what opens the dialog. As long as the button is there, the dialog has what the button has. */
export function useDialogOf<V>(props: ActionProps<V>): () => void {
  const owner = useRef(props);
  const action = props as ActionProps<unknown>;
  useLayoutEffect(() => {
    if (opened?.owner === owner && opened.action !== action) show({ ...opened, action });
  });
  return () => show({ owner, number: ++last, action });
}
