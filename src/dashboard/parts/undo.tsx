/** After an action whose reverse is exact, a notice offers it, until the next one: the mutation that brings back what was before. */
import { useQueryClient } from '@tanstack/react-query';
import { useState, useSyncExternalStore } from 'react';
import type { Document } from '../../client/document.ts';
import { tell } from '../data/connection.ts';
import { askAgain } from '../data/live.ts';
import { messageOf } from '../data/message-of.ts';
import { useTexts } from '../texts/all.ts';

/** What brings back what was before. Its variables are those of before the action. */
export type Reverse = () => Promise<unknown>;

export const reverse =
  <V,>(mutation: Document<unknown, V>, variables: V): Reverse =>
  () =>
    tell(mutation, variables);

interface Offer {
  readonly action: string;
  readonly send: Reverse;
}

let offer: Offer | undefined;
const listeners = new Set<() => void>();
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** What was offered before is forgotten: it might no longer be exact. */
export function offerUndo(action: string, back: Reverse | undefined): void {
  offer = back && { action, send: back };
  for (const listener of listeners) listener();
}

export function UndoNotice() {
  const t = useTexts();
  const queries = useQueryClient();
  const shown = useSyncExternalStore(subscribe, () => offer);
  const [ended, setEnded] = useState<{ readonly offer: Offer; readonly refusal?: string }>();
  const end = ended?.offer === shown ? ended : undefined;
  const undo = async (one: Offer) => {
    try {
      const told = Object.values(
        (await one.send()) as Readonly<Record<string, { message?: string } | null>>,
      )[0];
      setEnded({ offer: one, ...(told?.message !== undefined && { refusal: messageOf(told) }) });
      void queries.invalidateQueries();
      askAgain();
    } catch (error) {
      setEnded({ offer: one, refusal: messageOf(error) });
    }
  };
  return (
    <div className="undo">
      <span role="status">
        {shown !== undefined &&
          (end !== undefined && end.refusal === undefined ? t.undo.undone : t.undo.done)(shown.action)}
      </span>
      {end?.refusal !== undefined && (
        <span role="alert" className="problem">
          {end.refusal}
        </span>
      )}
      {shown !== undefined && (
        <>
          {end === undefined && (
            <button type="button" onClick={() => void undo(shown)}>
              {t.undo.undo}
            </button>
          )}
          <button
            type="button"
            className="quiet"
            aria-label={t.undo.dismiss}
            onClick={() => offerUndo('', undefined)}
          >
            <span aria-hidden="true">✕</span>
          </button>
        </>
      )}
    </div>
  );
}
