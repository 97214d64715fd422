/** The items of one job: how many of each status, where they are, and a list of them, or of those that are sought. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type ItemStatus, Items } from '../../generated/dashboard.ts';
import { type Pushed, useFollowing } from '../data/follow.ts';
import { pushedOf } from '../data/sources.ts';
import { useTexts } from '../texts/all.ts';
import { AddItems } from './add-items.tsx';
import { Answer } from './ask.tsx';
import type { JobRow } from './flow.tsx';
import { FoundItems, ItemSearchForm, isSought } from './item-search.tsx';
import { ItemTable } from './items.tsx';
import { JobCounts } from './job-counts.tsx';
import { MatchingItems } from './matching-items.tsx';
import { More, nodesOf, pagesOf } from './pages.tsx';
import { ItemStrip } from './strip.tsx';

const itemStatuses = [
  'WAITING',
  'BLOCKED',
  'SCHEDULED',
  'RETRYING',
  'READY',
  'RUNNING',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
] as const satisfies readonly ItemStatus[];

const whole = { from: undefined, to: undefined };

const statusOf = (name: string | undefined) => itemStatuses.find((one) => one === name);

export function itemsOf(jobId: string, status: string | undefined) {
  const known = statusOf(status);
  const statuses = known === undefined ? null : [known];
  return pagesOf(Items, { jobId, statuses }, (data) => data.job?.items);
}

export function JobItems(props: {
  row: JobRow;
  /** Whether a job below it may have items of its type. */
  isBelow: boolean;
  onChange: () => void;
}) {
  const { row, isBelow, onChange } = props;
  const { job, progress } = row;
  const t = useTexts();
  const search = useSearch({ from: '/trees/$id' });
  const navigate = useNavigate({ from: '/trees/$id' });
  const status = statusOf(search.status);
  const { find, path, code, key } = search;
  const sought = { find, path, code, key };
  const pushed = pushedOf(progress);
  const matching = pushed.isOpen && (
    <MatchingItems job={job} isBelow={isBelow} status={status} sought={sought} />
  );
  return (
    <section aria-label={t.tree.openItems}>
      <h2>
        {t.tree.openItems}: {job.type} <span className="quiet">{t.items(progress.itemCount)}</span>
      </h2>
      <JobCounts jobId={job.id} progress={progress} />
      <AddItems
        job={job}
        isOpen={!progress.sealed && job.feed == null}
        hasFile={job.import != null}
        onDone={onChange}
      />
      <ItemStrip
        jobId={job.id}
        itemCount={progress.itemCount}
        pushed={pushed}
        view={{ from: search.from, to: search.to }}
        onView={(view) =>
          navigate({ search: (now) => ({ ...now, job: job.id, ...whole, ...view }), replace: true })
        }
        onOpen={(itemId) => void navigate({ to: '/items/$id', params: { id: itemId } })}
      />
      <ItemSearchForm jobId={job.id} sought={sought} />
      {isSought(sought) && matching}
      {isSought(sought) ? (
        <FoundItems
          key={JSON.stringify(sought)}
          jobId={job.id}
          itemCount={progress.itemCount}
          sought={sought}
        />
      ) : (
        <ListedItems jobId={job.id} status={status} pushed={pushed}>
          {matching}
        </ListedItems>
      )}
    </section>
  );
}

function ListedItems(props: {
  jobId: string;
  status: ItemStatus | undefined;
  pushed: Pushed;
  children: ReactNode;
}) {
  const { jobId, status, pushed } = props;
  const t = useTexts();
  const navigate = useNavigate({ from: '/trees/$id' });
  const pages = useInfiniteQuery(itemsOf(jobId, status));
  useFollowing(pages, pushed);
  return (
    <>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          {t.tree.status}
          <select
            value={status ?? ''}
            onChange={({ target }) =>
              navigate({
                search: (now) => ({ ...now, job: jobId, status: target.value || undefined }),
                replace: true,
              })
            }
          >
            <option value="">{t.treeFilters.any}</option>
            {itemStatuses.map((one) => (
              <option key={one} value={one}>
                {t.state[one]}
              </option>
            ))}
          </select>
        </label>
      </form>
      {props.children}
      <Answer query={pages}>
        {() => <ItemTable items={nodesOf(pages)} more={<More pages={pages} />} />}
      </Answer>
    </>
  );
}
