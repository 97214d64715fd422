/** Why something is not running: a sentence for each reason, with what it is about and what changes it. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  Promote,
  Seal,
  SetQueue,
  type StandstillFragment,
  TreeStandstills as TreeStandstillsQuery,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { type Pushed, useFollowing } from '../data/follow.ts';
import { messageOf } from '../data/message-of.ts';
import { useMay } from '../data/viewer.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { ProblemOf } from './ask.tsx';
import { CopyButton } from './copy.tsx';
import { DiscardItem, ReplayItem } from './dead-item.tsx';
import { shortId } from './items.tsx';

interface Place {
  /** Of a tree, otherwise of an item or a queue, whose screens have what changes their states already. */
  readonly treeId?: string | undefined;
  readonly isQueue?: boolean;
}

export function Standstills({
  standstills,
  ...place
}: Place & { standstills: readonly StandstillFragment[] }) {
  const t = useTexts();
  const told = standstills.filter(({ reason }) => !over.has(reason));
  if (told.length === 0) return null;
  return (
    <section aria-label={t.standstill.title}>
      <h2>{t.standstill.title}</h2>
      <ul>
        {told.map((standstill) => (
          <li key={`${standstill.reason} ${standstill.type}`}>
            <Sentence standstill={standstill} {...place} />
          </li>
        ))}
      </ul>
    </section>
  );
}

export const standstillsOf = (id: string) =>
  queryOptions({
    queryKey: ['standstills', id],
    queryFn: ({ signal }) => ask(TreeStandstillsQuery, { id }, signal),
  });

export function TreeStandstills({ id, pushed }: { id: string; pushed: Pushed }) {
  const query = useQuery(standstillsOf(id));
  useFollowing(query, pushed);
  return (
    <>
      <ProblemOf query={query} />
      <Standstills standstills={query.data?.job?.treeStandstills ?? []} treeId={id} />
    </>
  );
}

/** Names that mean nothing to shells. */
const isPlain = /^[\w.-]+$/;

/** What the state says already. */
const over: ReadonlySet<string> = new Set(['COMPLETE', 'CANCELLED', 'FAILED']);

type Told = Place & { readonly standstill: StandstillFragment };

function Sentence({ standstill, ...place }: Told) {
  const t = useTexts();
  const { treeId } = place;
  const { reason, type, itemCount, hasMore, item, head, waitsFor } = standstill;
  const awaited = waitsFor.map((job) => job.type).join(', ');
  return (
    <>
      {treeId !== undefined && (
        <strong>
          {type}
          {itemCount > 0 && `, ${t.standstill.items(itemCount, hasMore)}`}:{' '}
        </strong>
      )}
      {t.standstill.of[reason]({ ...standstill, awaited })}{' '}
      {head != null && (
        <>
          {reason === 'KEY_HELD' ? t.standstill.failed : t.standstill.head}: <ItemLink id={head.id} />
          {reason === 'KEY_HELD' ? (
            <Failure failures={head.failures} />
          ) : (
            ` ${t.standstill.headIs(t.state[head.status] ?? head.status)}`
          )}
          .{' '}
        </>
      )}
      {treeId !== undefined && item != null && (
        <>
          {t.standstill.example(reason === 'KEY_HELD' || reason === 'BLOCKED')}: <ItemLink
            id={item.id}
          />{' '}
        </>
      )}
      {waitsFor.map((job) => (
        <span key={job.id}>
          <Link to="/trees/$id" params={{ id: job.id }} search={{ job: job.id }}>
            {job.type}
          </Link>{' '}
        </span>
      ))}
      <Remedy standstill={standstill} {...place} />
    </>
  );
}

/** The last one, without the full stop that a message may have. */
function Failure({ failures }: { failures: readonly { readonly code: string; readonly message: string }[] }) {
  const last = failures.at(-1);
  if (last === undefined) return null;
  return (
    <>
      , <strong>{last.code}</strong>: {messageOf(last).replace(/\.$/, '')}
    </>
  );
}

const ItemLink = ({ id }: { id: string }) => (
  <Link to="/items/$id" params={{ id }}>
    {shortId(id)}
  </Link>
);

/** Not for whoever may see one tree alone. */
function Limits({ type }: { type: string }) {
  const t = useTexts();
  const mayList = useMay()('LIST');
  return (
    mayList && (
      <Link to="/queues/$type" params={{ type }}>
        {t.standstill.raise(type)}
      </Link>
    )
  );
}

/** The one thing that ends this standstill, for those who may. */
function Remedy({ standstill, treeId, isQueue = false }: Told) {
  const t = useTexts();
  const { reason, type, job, head } = standstill;
  switch (reason) {
    case 'PAUSED':
      return (
        <Action
          label={t.standstill.resume}
          needs="ADMINISTER"
          mutation={SetQueue}
          variables={() => ({ input: { type, paused: false } })}
          question={t.standstill.resumeAsk(type)}
        />
      );
    case 'NO_WORKER':
      return (
        <CopyButton
          label={t.standstill.start}
          text={() => `jobtree work ${isPlain.test(type) ? type : 'TYPE'} -- COMMAND`}
        />
      );
    case 'RATE_LIMIT':
    case 'CONCURRENCY_LIMIT':
      return isQueue ? null : <Limits type={type} />;
    case 'KEY_HELD':
      return head == null ? null : (
        <>
          <ReplayItem key={`replay ${head.id}`} itemId={head.id} label={t.standstill.replayHead} />{' '}
          <DiscardItem key={`discard ${head.id}`} itemId={head.id} label={t.standstill.discardHead} />
        </>
      );
    case 'RETRYING':
    case 'SCHEDULED':
      return treeId === undefined ? null : (
        <Action
          label={t.standstill.promote}
          needs="SWEEP"
          mutation={Promote}
          variables={() => ({ input: { filter: { jobId: treeId, types: [type], statuses: [reason] } } })}
          question={`${t.standstill.promote}: ${type}, ${t.standstill.items(standstill.itemCount, standstill.hasMore)}`}
        />
      );
    case 'NOT_SEALED':
      return job == null ? null : (
        <Action
          label={t.tree.seal}
          needs="CHANGE"
          mutation={Seal}
          variables={() => ({ input: { jobId: job.id } })}
          question={t.tree.sealAsk(type)}
        />
      );
    default:
      return null;
  }
}
