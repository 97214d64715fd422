/** One item: what went in, what came out, and what happened on the way. */
import { Link, useParams } from '@tanstack/react-router';
import { CancelItems, LiveItem, type LiveItemSubscription, Promote } from '../../generated/dashboard.ts';
import { useAnswer } from '../data/live-answers.ts';
import { useMay } from '../data/viewer.ts';
import { Action } from '../parts/action.tsx';
import { Missing } from '../parts/ask.tsx';
import { CauseLink } from '../parts/causes.tsx';
import { ChangeItem } from '../parts/change-item.tsx';
import { ChildItems, ItemLink } from '../parts/child-items.tsx';
import { CopyButton } from '../parts/copy.tsx';
import { ReplayItem } from '../parts/dead-item.tsx';
import { Facts, Json } from '../parts/facts.tsx';
import { Failures } from '../parts/failures.tsx';
import { shortId } from '../parts/items.tsx';
import { LiveAnswer } from '../parts/live-list.tsx';
import { State } from '../parts/progress.tsx';
import { Standstills } from '../parts/standstills.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';
import { formatTime } from '../texts/formats.ts';

type Shown = NonNullable<LiveItemSubscription['live']['item']>;

export default function ItemScreen() {
  const t = useTexts();
  const { id } = useParams({ from: '/items/$id' });
  const live = useAnswer(LiveItem, { id });
  const missing = <Missing words={t.item.gone} />;
  return (
    <LiveAnswer live={live} missing={missing}>
      {({ item }) => (item == null ? missing : <Facing key={id} item={item} />)}
    </LiveAnswer>
  );
}

function Facing({ item }: { item: Shown }) {
  const t = useTexts();
  const { assignment, standstills, childItems, job } = item;
  return (
    <>
      <h1>
        {job.type} <span className="quiet">{shortId(item.id)}</span>
      </h1>
      <p>
        <State state={item.status} />
      </p>
      <Actions item={item} />
      {item.status === 'RUNNING' && assignment != null && (
        <p>{t.item.held(assignment.worker, assignment.attempt)}</p>
      )}
      <Standstills standstills={standstills} />
      <About item={item} />
      <h2>{t.item.payload}</h2>
      <Json value={item.payload} label={t.item.payload} />
      {item.status === 'SUCCEEDED' && (
        <>
          <h2>{t.item.result}</h2>
          <Json value={item.result} label={t.item.result} />
        </>
      )}
      {item.failures.length > 0 && <Attempts item={item} />}
      {item.log.length > 0 && (
        <>
          <h2>{t.item.log}</h2>
          <ol className="log">
            {item.log.map(({ at, attempt, text }) => (
              <li key={`${at} ${text}`}>
                <time dateTime={at}>{formatTime(at)}</time> <span className="quiet">{attempt}</span> {text}
              </li>
            ))}
          </ol>
        </>
      )}
      {childItems.nodes.length > 0 && (
        <>
          <h2>{t.item.children}</h2>
          <ChildItems of={item.id} page={childItems} />
        </>
      )}
    </>
  );
}

function About({ item }: { item: Shown }) {
  const t = useTexts();
  const { assignment, parentItem, job } = item;
  const traceId = item.traceContext?.traceparent.split('-')[1];
  return (
    <Facts
      facts={[
        [
          t.item.tree,
          <Link key="tree" to="/trees/$id" params={{ id: job.root.id }} search={{ job: job.id }}>
            {job.type}
          </Link>,
        ],
        [t.item.created, <Time key="created" at={item.createdAt} />],
        [t.item.finished, item.finishedAt == null ? undefined : <Time key="finished" at={item.finishedAt} />],
        [
          t.item.finishedBy,
          item.status === 'SUCCEEDED' && assignment != null
            ? t.item.byWorker(assignment.worker, assignment.attempt)
            : undefined,
        ],
        [t.item.runAt, item.runAt == null ? undefined : <Time key="runAt" at={item.runAt} />],
        [t.item.retryAt, item.retryAt == null ? undefined : <Time key="retryAt" at={item.retryAt} />],
        [t.item.priority, item.priority === 0 ? undefined : item.priority],
        [t.item.dedupeKey, item.dedupeKey],
        [t.item.serializeKey, item.serializeKey],
        [t.item.note, item.note],
        [t.item.parent, parentItem == null ? undefined : <ItemLink key="parent" item={parentItem} />],
        [t.item.trace, traceId === undefined ? undefined : <Trace key="trace" id={traceId} />],
      ]}
    />
  );
}

function Trace({ id }: { id: string }) {
  const t = useTexts();
  return (
    <>
      <code>{id}</code> <CopyButton label={t.item.copyTrace} text={() => id} />
    </>
  );
}

function Attempts({ item }: { item: Shown }) {
  const t = useTexts();
  const mayList = useMay()('LIST');
  const { deadLetterGroupId, failureCount, failures, job } = item;
  return (
    <>
      <h2>
        {t.item.attempts}{' '}
        <span className="quiet">{t.item.failures(failureCount, job.maxFailuresPerItem)}</span>
      </h2>
      {item.status === 'FAILED' && deadLetterGroupId == null && <p>{t.item.discarded}</p>}
      {deadLetterGroupId != null && mayList && (
        <p>
          <CauseLink id={deadLetterGroupId}>{t.causes.same}</CauseLink>
        </p>
      )}
      <Failures failures={failures} />
    </>
  );
}

/** Only what the item's state allows. */
function Actions({ item }: { item: Shown }) {
  const t = useTexts();
  const filter = { itemIds: [item.id] };
  const isScheduled = item.status === 'SCHEDULED' || item.status === 'RETRYING';
  // One that was discarded stays failed, and one of a cancelled job would have no job to run in.
  const isDeadLetter = item.deadLetterGroupId != null && item.job.cancelledAt == null;
  const isPending = isScheduled || ['WAITING', 'BLOCKED', 'READY'].includes(item.status);
  return (
    <div className="buttons">
      {isPending && <ChangeItem item={item} />}
      {isScheduled && (
        <Action
          label={t.item.promote}
          shortcut="r"
          needs="SWEEP"
          mutation={Promote}
          variables={() => ({ input: { filter: { ...filter, statuses: [item.status] } } })}
          question={t.item.promoteAsk}
          command={() => `jobtree promote-items --item ${item.id} --status ${item.status.toLowerCase()}`}
        />
      )}
      {(isPending || item.status === 'RUNNING') && (
        <Action
          label={t.item.cancel}
          shortcut="x"
          danger
          needs="SWEEP"
          mutation={CancelItems}
          variables={() => ({ input: { filter } })}
          question={t.item.cancelAsk}
          command={() => `jobtree cancel-items --item ${item.id}`}
        />
      )}
      {isDeadLetter && <ReplayItem itemId={item.id} />}
      <CopyButton label={t.copy.id} text={() => item.id} />
      <CopyButton label={t.copy.command} text={() => `jobtree items ${item.id}`} />
    </div>
  );
}
