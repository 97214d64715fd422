/**
 * A button that changes something: it says first what, and how much, and carries it out when that is confirmed. What the server refuses is said in the
 * same dialog; what takes longer is an operation, whose progress is shown there, live, and which can be stopped. What can be undone exactly says how.
 */
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useId, useRef, useState } from 'react';
import type { Document } from '../../client/document.ts';
import { CancelOperation, type OperationStateFragment, type Permission } from '../../generated/dashboard.ts';
import { tell } from '../data/connection.ts';
import { askAgain, useLive } from '../data/live.ts';
import { messageOf } from '../data/message-of.ts';
import { operationOf } from '../data/sources.ts';
import { useMay } from '../data/viewer.ts';
import { useTexts } from '../texts/all.ts';
import { CopyButton, inGraphql } from './copy.tsx';
import { offerUndo, type Reverse } from './undo.tsx';

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** The payload of a mutation's one field, or what it refuses. */
type Told = { readonly operation?: OperationStateFragment } | Refusal | null | undefined;

export interface ActionProps<V> {
  readonly label: string;
  /** Who may not is not shown the button. */
  readonly needs: Permission;
  readonly mutation: Document<unknown, V>;
  readonly variables: () => V;
  /** What is asked, with the count. Called when the dialog is open, so that it may ask the server. */
  readonly question: ReactNode;
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

export function Action<V>(props: ActionProps<V>) {
  const may = useMay();
  return may(props.needs) ? <Offered {...props} /> : null;
}

function Offered<V>(props: ActionProps<V>) {
  const {
    label,
    mutation,
    variables,
    question,
    fields,
    command,
    danger = false,
    shortcut,
    onDone,
    refusalOf,
    undo,
    result,
  } = props;
  const t = useTexts();
  const queries = useQueryClient();
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const isDone = useRef(false);
  const [isOpen, setIsOpen] = useState(false);
  const [isSending, setIsSending] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const [operation, setOperation] = useState<OperationStateFragment>();
  const [shown, setShown] = useState<ReactNode>();
  const isAsking = operation === undefined && shown === undefined;

  const open = () => {
    setRefusal(undefined);
    setOperation(undefined);
    setShown(undefined);
    setIsOpen(true);
    dialog.current?.showModal();
  };
  /** Only now is everything read again: what the dialog belongs to may be gone by then, and the progress with it. */
  const close = () => {
    setIsOpen(false);
    if (!isDone.current) return;
    isDone.current = false;
    void queries.invalidateQueries();
    askAgain();
    onDone?.();
  };
  const carryOut = async () => {
    setIsSending(true);
    setRefusal(undefined);
    try {
      const back = undo?.();
      const answer = (await tell(mutation, variables())) as Readonly<Record<string, Told>>;
      const told = Object.values(answer)[0];
      if (told != null && 'message' in told) return setRefusal(told.message);
      const problem = refusalOf?.(told as never);
      if (problem !== undefined) return setRefusal(problem);
      isDone.current = true;
      offerUndo(label, back);
      if (told != null && 'operation' in told && told.operation !== undefined) setOperation(told.operation);
      else if (result !== undefined) setShown(result(told as never));
      else dialog.current?.close();
    } catch (error) {
      setRefusal(messageOf(error));
    } finally {
      setIsSending(false);
    }
  };
  return (
    <>
      <button
        type="button"
        className={danger ? 'danger' : undefined}
        aria-keyshortcuts={shortcut}
        onClick={open}
      >
        {label}
      </button>
      <dialog ref={dialog} aria-labelledby={title} onClose={close}>
        {isOpen && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void carryOut();
            }}
          >
            <h2 id={title}>{label}</h2>
            {isAsking && (
              <>
                <div>{question}</div>
                {fields}
              </>
            )}
            {operation !== undefined && <OperationProgress operation={operation} isStoppable />}
            {shown}
            {refusal !== undefined && (
              <p role="alert" className="problem">
                {refusal}
              </p>
            )}
            <div className="buttons">
              {isAsking && (
                <button type="submit" className={danger ? 'danger' : 'primary'} disabled={isSending}>
                  {label}
                </button>
              )}
              <button type="button" onClick={() => dialog.current?.close()}>
                {isAsking ? t.cancel : t.close}
              </button>
              {isAsking && (
                <>
                  <CopyButton
                    label={t.copy.graphql}
                    text={() => inGraphql(mutation, tryOrNothing(variables))}
                  />
                  {command !== undefined && <CopyButton label={t.copy.command} text={command} />}
                </>
              )}
            </div>
          </form>
        )}
      </dialog>
    </>
  );
}

/** What is entered may not be valid yet. */
function tryOrNothing<V>(variables: () => V): V | undefined {
  try {
    return variables();
  } catch {
    return undefined;
  }
}

export function OperationProgress(props: { operation: OperationStateFragment; isStoppable?: boolean }) {
  const { operation, isStoppable = false } = props;
  const t = useTexts();
  const may = useMay();
  const isRunning = operation.status === 'RUNNING';
  const { value = operation } = useLive(
    isRunning ? `operation ${operation.id}` : undefined,
    operationOf(operation.id),
  );
  const words = t.operation.running(t.operation.kind[value.kind] ?? value.kind, value.done, value.total);
  return (
    <p className="operation">
      <progress
        aria-label={words}
        max={Math.max(value.total, 1)}
        value={value.status === 'RUNNING' ? value.done : Math.max(value.total, 1)}
      />
      <span role="status">
        {words}
        {value.status !== 'RUNNING' && `: ${t.state[value.status] ?? value.status}`}
      </span>
      {isStoppable && value.status === 'RUNNING' && may('SWEEP') && <Stop id={operation.id} />}
    </p>
  );
}

/** Of an operation. Its progress tells that it has stopped. */
function Stop({ id }: { id: string }) {
  const t = useTexts();
  const [refusal, setRefusal] = useState<string>();
  const stop = async () => {
    try {
      const { cancelOperation } = await tell(CancelOperation, { input: { operationId: id } });
      if (cancelOperation != null && 'message' in cancelOperation) setRefusal(cancelOperation.message);
    } catch (error) {
      setRefusal(messageOf(error));
    }
  };
  return (
    <>
      <button type="button" onClick={() => void stop()}>
        {t.operation.stop}
      </button>{' '}
      <span className="quiet">{t.operation.stopKeeps}</span>
      {refusal !== undefined && (
        <span role="alert" className="problem">
          {refusal}
        </span>
      )}
    </>
  );
}
