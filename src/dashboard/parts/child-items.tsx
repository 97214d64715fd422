/** What an item became: each page of them is live, and the next one begins where the last one ends. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type ChildItemsFragment, LiveChildItems } from '../../generated/dashboard.ts';
import { useAnswer } from '../data/live-answers.ts';
import { useTexts } from '../texts/all.ts';
import { shortId } from './items.tsx';
import { LiveAnswer } from './live-list.tsx';
import { State } from './progress.tsx';

export const ItemLink = ({ item }: { item: { id: string } }) => (
  <Link to="/items/$id" params={{ id: item.id }}>
    {shortId(item.id)}
  </Link>
);

export function ChildItems({ of, page }: { of: string; page: ChildItemsFragment }) {
  const t = useTexts();
  const [isMore, setIsMore] = useState(false);
  const { endCursor, hasNextPage } = page.pageInfo;
  return (
    <>
      <ul>
        {page.nodes.map((child) => (
          <li key={child.id}>
            <ItemLink item={child} /> {child.job.type} <State state={child.status} />
          </li>
        ))}
      </ul>
      {hasNextPage && endCursor != null && isMore && <Next of={of} after={endCursor} />}
      {hasNextPage && !isMore && (
        <button type="button" className="more" onClick={() => setIsMore(true)}>
          {t.more}
        </button>
      )}
    </>
  );
}

function Next({ of, after }: { of: string; after: string }) {
  const live = useAnswer(LiveChildItems, { id: of, after });
  return (
    <LiveAnswer live={live}>
      {({ item }) => item != null && <ChildItems of={of} page={item.childItems} />}
    </LiveAnswer>
  );
}
