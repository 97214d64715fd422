/** What stands around every screen: the pages that the reader may see, and whether what is shown is live. */
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense, useRef } from 'react';
import { pause, useFreshness } from './data/live.ts';
import { isRenewable, session, signOut, useIsOver } from './data/session.ts';
import { signInWays } from './data/sign-in-ways.ts';
import { useMay, useViewer, useViewerError } from './data/viewer.ts';
import { isUnauthenticated, Missing, Problem } from './parts/ask.tsx';
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
  const error = useViewerError();
  const isStranger = error !== null && isUnauthenticated(error);
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        {t.skip}
      </button>
      <header>
        <strong>jobtree</strong>
        {!isStranger && <Menu />}
        <div className="tools">
          {!isStranger && <Freshness />}
          <Suspense>
            <Conveniences pages={pages.filter(([, , needs]) => may(needs))} />
          </Suspense>
          <SignedIn />
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {/* Whoever is not known yet sees nothing of a screen. */}
        {isStranger ? <Problem error={error} /> : <Outlet />}
      </main>
      <Suspense>
        <ActionDialog />
      </Suspense>
    </>
  );
}

/** On narrow screens the pages are behind a button. */
function Menu() {
  const t = useTexts();
  const may = useMay();
  const menu = useRef<HTMLElement>(null);
  const isInTree = useRouterState({
    select: ({ location }) => /^\/(trees|items)\//.test(location.pathname),
  });
  return (
    <>
      <button type="button" className="menu" popoverTarget="pages">
        {t.nav.label}
      </button>
      <nav id="pages" popover="auto" aria-label={t.nav.label} ref={menu}>
        {pages.map(
          ([to, name, needs]) =>
            may(needs) && (
              <Link
                key={to}
                to={to}
                activeOptions={{ exact: to === '/', includeSearch: false }}
                onClick={() => menu.current?.hidePopover()}
                aria-current={to === '/' && isInTree ? 'page' : undefined}
              >
                {t.nav[name]}
              </Link>
            ),
        )}
      </nav>
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
          <span title={viewer?.name}>{viewer?.name.replace(/ \([\da-f-]{36}\)$/, '')}</span>
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
  return <Missing words={t.notFound} />;
}
