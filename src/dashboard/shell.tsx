/** What stands around every screen: the pages that the reader may see, and whether what is shown is live. */
import { Link, Outlet } from '@tanstack/react-router';
import { signedInWith, signIn } from './data/connection.ts';
import { pause, useFreshness } from './data/live.ts';
import { useMay, useViewer } from './data/viewer.ts';
import { formatClock } from './texts/formats.ts';
import { useTexts } from './texts/texts.ts';

/** Each with what it needs. */
const pages = [
  ['/', 'trees', 'LIST'],
  ['/dead-letters', 'deadLetters', 'LIST'],
  ['/queues', 'queues', 'LIST'],
  ['/workers', 'workers', 'LIST'],
  ['/keys', 'keys', 'SURVEY'],
  ['/imports', 'imports', 'LIST'],
  ['/schedules', 'schedules', 'SURVEY'],
  ['/operations', 'operations', 'SURVEY'],
  ['/callbacks', 'callbacks', 'ADMINISTER'],
  ['/audit', 'audit', 'ADMINISTER'],
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
        <Freshness />
        <SignedIn />
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

function SignedIn() {
  const t = useTexts();
  const viewer = useViewer();
  if (signedInWith() === undefined) return null;
  return (
    <div>
      {viewer?.name}{' '}
      <button type="button" className="quiet" onClick={() => signIn(undefined)}>
        {t.signIn.signOut}
      </button>
    </div>
  );
}

export function NotFound() {
  const t = useTexts();
  return <p>{t.notFound}</p>;
}
