/** What a screen shows while it asks, and when there is no answer: where the answer would be. */
import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, Suspense } from 'react';
import { messageOf } from '../data/message-of.ts';
import { session } from '../data/session.ts';
import { lazily } from '../lazily.ts';
import { useTexts } from '../texts/texts.ts';

const SignIn = lazily(() => import('./sign-in.tsx'));

const codeOf = (error: unknown) => (error as { code?: unknown } | null)?.code;

export const isUnauthenticated = (error: unknown) => codeOf(error) === 'UNAUTHENTICATED';

/** What the address names is not there, or can't be: with a way back to the list. */
export function Missing({ words, to = '/' }: { words: string; to?: '/' | '/dead-letters' | '/queues' }) {
  const t = useTexts();
  const lists = { '/': t.nav.trees, '/dead-letters': t.nav.deadLetters, '/queues': t.nav.queues };
  return (
    <>
      <p role="status">{words}</p>
      <Link to={to}>{lists[to]}</Link>
    </>
  );
}

/** Whether what the address names is not there, or is no id. */
export const isMissing = (error: unknown) => ['NOT_FOUND', 'INVALID_INPUT'].includes(String(codeOf(error)));

export function Problem({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const t = useTexts();
  if (isUnauthenticated(error))
    return (
      <Suspense fallback={t.loading}>
        <SignIn reason={session() && error.message} />
      </Suspense>
    );
  return (
    <p role="alert" className="problem">
      {messageOf(error)}{' '}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {t.retry}
        </button>
      )}
    </p>
  );
}

type Asked = Pick<UseQueryResult, 'error' | 'refetch'>;

/** Why what is shown could not be read again. */
export function ProblemOf({ query }: { query: Asked }) {
  return query.error !== null && <Problem error={query.error} onRetry={() => void query.refetch()} />;
}

export function Answer<T>({
  query,
  missing,
  children,
}: {
  query: UseQueryResult<T>;
  /** Instead of what the server says of an id that leads to nothing. */
  missing?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  const t = useTexts();
  // What was there may have been deleted since.
  if (missing !== undefined && isMissing(query.error)) return missing;
  if (query.isPending) return <p className="quiet">{t.loading}</p>;
  // What is wrong with a further page is said where it would be.
  const isOfMore = 'isFetchNextPageError' in query && query.isFetchNextPageError;
  return (
    <>
      {!isOfMore && <ProblemOf query={query} />}
      {query.data !== undefined && children(query.data)}
    </>
  );
}
