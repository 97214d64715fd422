/** What stands around every screen: the pages, and whether what is shown is live. */
import { Link, Outlet } from '@tanstack/react-router';
import { signedInWith, signIn } from './data/connection.ts';
import { pause, useFreshness } from './data/live.ts';
import { formatClock, useTexts } from './texts/texts.ts';

const pages = [
  ['/', 'trees'],
  ['/dead-letters', 'deadLetters'],
  ['/queues', 'queues'],
  ['/workers', 'workers'],
  ['/keys', 'keys'],
  ['/schedules', 'schedules'],
  ['/operations', 'operations'],
  ['/callbacks', 'callbacks'],
  ['/audit', 'audit'],
] as const;

export function Shell() {
  const t = useTexts();
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        {t.skip}
      </button>
      <header>
        <strong>jobtree</strong>
        <nav aria-label={t.nav.label}>
          {pages.map(([to, name]) => (
            <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
              {t.nav[name]}
            </Link>
          ))}
        </nav>
        <Freshness />
        {signedInWith() !== undefined && (
          <button type="button" className="quiet" onClick={() => signIn(undefined)}>
            {t.signIn.signOut}
          </button>
        )}
      </header>
      <main id="content" tabIndex={-1}>
        <Outlet />
      </main>
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

export function NotFound() {
  const t = useTexts();
  return <p>{t.notFound}</p>;
}
