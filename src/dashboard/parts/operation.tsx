/** Operations: what they were asked to do, how far they are, what they have done, and where one sees what becomes of that. */
import { Link, useMatchRoute } from '@tanstack/react-router';
import { Fragment, type ReactNode, useEffect, useState } from 'react';
import { CancelOperation, type OperationStateFragment } from '../../generated/dashboard.ts';
import { tell } from '../data/connection.ts';
import { useLive } from '../data/live.ts';
import { messageOf } from '../data/message-of.ts';
import { operationOf } from '../data/sources.ts';
import { useMay } from '../data/viewer.ts';
import { useTexts } from '../texts/all.ts';
import { formatTime } from '../texts/formats.ts';
import { shortId } from './items.tsx';

export function OperationProgress(props: {
  readonly operation: OperationStateFragment;
  readonly isStoppable?: boolean;
  /** Whether it says where one sees what becomes of it. */
  readonly leads?: boolean;
  /** Called if it was running, once it is not. */
  readonly onEnd?: () => void;
}) {
  const { operation, isStoppable = false, leads = false, onEnd } = props;
  const t = useTexts();
  const may = useMay();
  const wasRunning = operation.status === 'RUNNING';
  const { value = operation } = useLive(
    wasRunning ? `operation ${operation.id}` : undefined,
    operationOf(operation.id),
  );
  const { kind, status, done, total, skipped, skippedReason } = value;
  const isRunning = status === 'RUNNING';
  useEffect(() => {
    if (wasRunning && !isRunning) onEnd?.();
  }, [wasRunning, isRunning]);
  const words = isRunning
    ? t.operation.running(t.operation.kind[kind], done, total)
    : t.operation.ended(t.operation.did[kind](done), status === 'CANCELLED', total - done - skipped);
  return (
    <div className="operation">
      <progress aria-label={words} max={Math.max(total, 1)} value={isRunning ? done : Math.max(total, 1)} />
      <span role="status">{words}</span>
      {skipped > 0 && <p>{t.operation.skipped(skipped, skippedReason ?? '')}</p>}
      {isStoppable && isRunning && may('SWEEP') && <Stop id={value.id} />}
      {leads && done > 0 && <Outlook operation={value} />}
    </div>
  );
}

/** Of an operation. Its progress tells that it has stopped. */
function Stop({ id }: { id: string }) {
  const t = useTexts();
  const [refusal, setRefusal] = useState<string>();
  const stop = async () => {
    try {
      const { cancelOperation } = await tell(CancelOperation, { input: { operationId: id } });
      if (cancelOperation != null && 'message' in cancelOperation) setRefusal(messageOf(cancelOperation));
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

/** Where one sees how what was begun goes on, unless that is the page behind. Nothing goes on after the others. */
function Outlook({ operation: { kind, selection } }: { operation: OperationStateFragment }) {
  const t = useTexts();
  const isHere = useMatchRoute();
  if (kind !== 'REPLAY' && kind !== 'PROMOTE') return null;
  const [itemId] = selection.itemIds;
  const [type] = selection.types;
  const lead = (link: ReactNode) => (
    <p>
      {t.operation.outlook} {link}
    </p>
  );
  if (itemId !== undefined && selection.itemCount === 1) {
    const item = { to: '/items/$id', params: { id: itemId } } as const;
    return isHere(item) ? null : lead(<Link {...item}>{t.operation.item(shortId(itemId))}</Link>);
  }
  if (selection.jobId != null) {
    const tree = { to: '/trees/$id', params: { id: selection.jobId } } as const;
    return isHere(tree) ? null : lead(<Link {...tree}>{t.operation.tree}</Link>);
  }
  if (type !== undefined && selection.types.length === 1)
    return lead(
      <Link to="/queues/$type" params={{ type }}>
        {t.queues.of(type)}
      </Link>,
    );
  return lead(<Link to="/queues">{t.queues.title}</Link>);
}

/** What an operation was asked to do, in words that lead to what they name. */
export function Asked({ operation: { kind, selection } }: { operation: OperationStateFragment }) {
  const t = useTexts();
  const { jobId, itemIds, itemCount, from, until } = selection;
  const isOfTrees = kind === 'CANCEL_TREES' || kind === 'DELETE_TREES';
  const parts: ReactNode[] = [
    ...itemIds.map((id) => (
      <Link key={id} to="/items/$id" params={{ id }}>
        {t.operation.item(shortId(id))}
      </Link>
    )),
    itemCount > itemIds.length && t.operation.more(itemCount - itemIds.length),
    jobId != null && (
      <Link to="/trees/$id" params={{ id: jobId }}>
        {t.operation.tree}
      </Link>
    ),
    ...selection.types.map((type) =>
      isOfTrees ? (
        <Link key={type} to="/" search={{ types: [type] }}>
          {type}
        </Link>
      ) : (
        <Link key={type} to="/queues/$type" params={{ type }}>
          {type}
        </Link>
      ),
    ),
    ...selection.codes.map((code) => (
      <Link key={code} to="/dead-letters" search={{ code }}>
        {code}
      </Link>
    )),
    ...selection.groupIds.map((id) => (
      <Link key={id} to="/dead-letters/$id" params={{ id }}>
        {t.operation.group}
      </Link>
    )),
    ...selection.statuses.map((status) => t.state[status] ?? status),
    selection.dedupeKeyCount > 0 && t.operation.dedupeKeys(selection.dedupeKeyCount),
    from != null && t.operation.from(formatTime(from)),
    until != null && t.operation.until(formatTime(until)),
    selection.hasPayload && t.operation.corrected,
    selection.hasMore && t.operation.conditions,
  ].filter((part) => part !== false);
  return (
    <>
      <strong>{t.operation.kind[kind]}</strong>
      {parts.map((part, i) => (
        <Fragment key={i}>
          {i === 0 ? ': ' : ', '}
          {part}
        </Fragment>
      ))}
    </>
  );
}
