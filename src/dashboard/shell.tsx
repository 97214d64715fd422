/** What stands around every screen: the pages that the reader may see, and whether what is shown is live. */
import { Link, Outlet } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { pause, useFreshness } from './data/live.ts';
import { isRenewable, session, signOut, useIsOver } from './data/session.ts';
import { signInWays } from './data/sign-in-ways.ts';
import { useMay, useViewer } from './data/viewer.ts';
import { formatClock, formatTime } from './texts/formats.ts';
import { useTexts } from './texts/texts.ts';

const SignInAgain = lazy(() => import('./parts/sign-in-again.tsx'));
const Conveniences = lazy(() => import('./parts/conveniences.tsx'));
const ActionDialog = lazy(() => import('./parts/action-dialog.tsx'));

/** Each with what it needs. */
const pages = [
  ['/', 'trees', 'LIST'],
  ['/dead-letters', 'deadLetters', 'LIST'],
  ['/queues', 'queues', 'LIST'],
  ['/workers', 'workers', 'LIST'],
  ['/keys', 'keys', 'SURVEY'],
  ['/imports', 'imports', 'LIST'],
  ['/schedules', 'schedules', 'SURVEY'],
  ['/operations', 'operations', 'LIST'],
  ['/callbacks', 'callbacks', 'ADMINISTER'],
  ['/api-keys', 'apiKeys', 'ADMINISTER'],
  ['/audit', 'audit', 'ADMINISTER'],
  ['/system', 'system', 'INSPECT'],
] as const;

export function Shell() {
  const t = useTexts();
  const may = useMay();
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        {t.skip}
      </button>
      <header>
        <strong>jobtree</strong>
        <nav aria-label={t.nav.label}>
          {pages.map(
            ([to, name, needs]) =>
              may(needs) && (
                <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
                  {t.nav[name]}
                </Link>
              ),
          )}
        </nav>
        <div className="tools">
          <Freshness />
          <Suspense>
            <Conveniences pages={pages.filter(([, , needs]) => may(needs))} />
          </Suspense>
          <SignedIn />
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        <Outlet />
      </main>
      <Suspense>
        <ActionDialog />
      </Suspense>
    </>
  );
}

function Freshness() {
  const t = useTexts();
  const { isPaused, pausedAt, awaySince } = useFreshness();
  const since = pausedAt ?? awaySince;
  return (
    <div className="freshness">
      <span role="status" data-live={since === undefined}>
        {since === undefined ? t.fresh.live : t.fresh.asOf(formatClock(since))}
      </span>
      <button type="button" aria-pressed={isPaused} onClick={() => pause(!isPaused)}>
        {isPaused ? t.fresh.resume : t.fresh.pause}
      </button>
    </div>
  );
}

/** Who it is, and until when; if everything waits for them, how to go on. */
function SignedIn() {
  const t = useTexts();
  const viewer = useViewer();
  const isOver = useIsOver();
  if (signInWays.ways.length === 0) return null;
  return (
    <div className="signed-in">
      {isOver ? (
        <Suspense>
          <SignInAgain />
        </Suspense>
      ) : (
        <>
          {viewer?.name}
          {viewer?.expiresAt != null && !isRenewable() && (
            <small className="quiet">{t.you.until(formatTime(viewer.expiresAt))}</small>
          )}
        </>
      )}
      {session() !== undefined && (
        <button type="button" className="quiet" onClick={() => void signOut()}>
          {t.you.signOut}
        </button>
      )}
    </div>
  );
}

export function NotFound() {
  const t = useTexts();
  return <p>{t.notFound}</p>;
}
