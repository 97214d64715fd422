/** What a screen shows while it asks, and when there is no answer: where the answer would be. */
import type { UseQueryResult } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';
import { session } from '../data/session.ts';
import { useTexts } from '../texts/texts.ts';

const SignIn = lazy(() => import('./sign-in.tsx'));

const codeOf = (error: unknown) => (error as { code?: unknown }).code;

export function Problem({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const t = useTexts();
  if (codeOf(error) === 'UNAUTHENTICATED')
    return (
      <Suspense fallback={t.loading}>
        <SignIn reason={session() && error.message} />
      </Suspense>
    );
  return (
    <p role="alert" className="problem">
      {error.message}{' '}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {t.retry}
        </button>
      )}
    </p>
  );
}

export function Answer<T>({
  query,
  children,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
}) {
  const t = useTexts();
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) return <Problem error={query.error} onRetry={() => void query.refetch()} />;
  return <p className="quiet">{t.loading}</p>;
}
