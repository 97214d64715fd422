/**
 * The dialog of an action: it asks, carries out what is confirmed, and stays until it is closed. What the server refuses is said here; what takes longer
 * is an operation, whose progress is shown, live, and which can be stopped. What can be undone exactly says how.
 */
import { useQueryClient } from '@tanstack/react-query';
import { useRouterState } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from 'react';
import type { OperationStateFragment } from '../../generated/dashboard.ts';
import { tell } from '../data/connection.ts';
import { askAgain } from '../data/live.ts';
import { messageOf } from '../data/message-of.ts';
import { useTexts } from '../texts/all.ts';
import { CopyButton, inGraphql } from './copy.tsx';
import { useModal } from './modal.ts';
import { type ActionProps, closeAction, type Told, useOpened } from './opened-action.ts';
import { OperationProgress } from './operation.tsx';
import { offerUndo } from './undo.tsx';

export default function ActionDialog() {
  const opened = useOpened();
  return opened && <Dialog key={opened.number} number={opened.number} {...opened.action} />;
}

function Dialog(props: ActionProps<unknown> & { readonly number: number }) {
  const { label, question, fields, danger = false } = props;
  const t = useTexts();
  const dialog = useModal();
  const title = useId();
  const { carryOut, readAgain, isSending, refusal, operation, shown } = useCarryingOut(props, dialog);
  const isAsking = operation === undefined && shown === undefined;

  // A link in it leads elsewhere, and so does the browser's way back.
  const place = useRouterState({ select: ({ location }) => location.href });
  const opening = useRef(place);
  useEffect(() => {
    if (place !== opening.current) dialog.current?.close();
  }, [place, dialog]);

  const close = () => {
    closeAction(props.number);
    // The button is gone, and the focus with it.
    if (document.activeElement === document.body)
      document.getElementById('content')?.focus({ preventScroll: true });
  };
  return (
    <dialog ref={dialog} aria-labelledby={title} onClose={close}>
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
        {operation !== undefined && (
          <OperationProgress operation={operation} isStoppable leads onEnd={readAgain} />
        )}
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
          {isAsking && <Copies {...props} />}
        </div>
      </form>
    </dialog>
  );
}

function useCarryingOut(props: ActionProps<unknown>, dialog: RefObject<HTMLDialogElement | null>) {
  const { label, mutation, variables } = props;
  const queries = useQueryClient();
  const [isSending, setIsSending] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const [operation, setOperation] = useState<OperationStateFragment>();
  const [shown, setShown] = useState<ReactNode>();
  /** What is behind the dialog follows. */
  const readAgain = () => {
    void queries.invalidateQueries();
    askAgain();
    props.onDone?.();
  };
  const carryOut = async () => {
    setIsSending(true);
    setRefusal(undefined);
    try {
      const back = props.undo?.();
      const answer = (await tell(mutation, variables(), () => dialog.current?.open === true)) as Readonly<
        Record<string, Told>
      >;
      const told = Object.values(answer)[0];
      if (told != null && 'message' in told) return setRefusal(messageOf(told));
      const problem = props.refusalOf?.(told as never);
      if (problem !== undefined) return setRefusal(problem);
      offerUndo(label, back);
      if (told != null && 'operation' in told && told.operation !== undefined) setOperation(told.operation);
      else if (props.result !== undefined) setShown(props.result(told as never));
      else dialog.current?.close();
      readAgain();
    } catch (error) {
      setRefusal(messageOf(error));
    } finally {
      setIsSending(false);
    }
  };
  return { carryOut, readAgain, isSending, refusal, operation, shown };
}

function Copies({ mutation, variables, command }: ActionProps<unknown>) {
  const t = useTexts();
  return (
    <>
      <CopyButton label={t.copy.graphql} text={() => inGraphql(mutation, tryOrNothing(variables))} />
      {command !== undefined && <CopyButton label={t.copy.command} text={command} />}
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
