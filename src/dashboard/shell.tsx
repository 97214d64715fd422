/** What stands around every screen: the pages that the reader may see, and whether what is shown is live. */
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { Suspense, useRef } from 'react';
import { pause, useFreshness } from './data/live.ts';
import { isRenewable, session, signOut, useIsOver } from './data/session.ts';
import { signInWays } from './data/sign-in-ways.ts';
import { useMay, useViewer, useViewerError } from './data/viewer.ts';
import { lazily } from './lazily.ts';
import { isUnauthenticated, Missing, Problem } from './parts/ask.tsx';
import { formatClock, formatTime } from './texts/formats.ts';
import { useTexts } from './texts/texts.ts';

const SignInAgain = lazily(() => import('./parts/sign-in-again.tsx'));
const Conveniences = lazily(() => import('./parts/conveniences.tsx'));
const ActionDialog = lazily(() => import('./parts/action-dialog.tsx'));

/** Each with what it needs. `isRare`: it goes behind a button if there are many of them. */
const pages = [
  ['/', 'trees', 'LIST'],
  ['/dead-letters', 'deadLetters', 'LIST'],
  ['/queues', 'queues', 'LIST'],
  ['/workers', 'workers', 'LIST'],
  ['/keys', 'keys', 'SURVEY'],
  ['/imports', 'imports', 'LIST'],
  ['/schedules', 'schedules', 'SURVEY'],
  ['/operations', 'operations', 'LIST', 'isRare'],
  ['/callbacks', 'callbacks', 'ADMINISTER', 'isRare'],
  ['/api-keys', 'apiKeys', 'ADMINISTER', 'isRare'],
  ['/audit', 'audit', 'ADMINISTER', 'isRare'],
  ['/system', 'system', 'INSPECT', 'isRare'],
] as const;

export function Shell() {
  const t = useTexts();
  const may = useMay();
  const error = useViewerError();
  const isStranger = error !== null && isUnauthenticated(error);
  const needs = useNeeds();
  const isRefused = useViewer() !== undefined && needs !== undefined && !may(needs);
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
        {/* Whoever is not known yet sees nothing of a screen; whoever may see one tree is refused such as the list of trees. */}
        {isStranger ? <Problem error={error} /> : isRefused ? <p role="status">{t.refused}</p> : <Outlet />}
      </main>
      <Suspense>
        <ActionDialog />
      </Suspense>
    </>
  );
}

/**
 * What the page that is shown needs; undefined for a tree or an item, of which the server knows who may see it. The address is that of the next
 * page already while that one is fetched.
 */
function useNeeds() {
  const path = useRouterState({ select: ({ matches }) => matches.at(-1)?.pathname ?? '/' });
  return pages.find(([to]) => path === to || (to !== '/' && path.startsWith(`${to}/`)))?.[2];
}

const mostRare = 2;

/** On narrow screens the pages are behind a button; on others only those that are rarely needed, if they are many. */
function Menu() {
  const t = useTexts();
  const may = useMay();
  const menu = useRef<HTMLElement>(null);
  const isInTree = useRouterState({
    select: ({ location }) => /^\/(trees|items)\//.test(location.pathname),
  });
  const rarer = useRef<HTMLDivElement>(null);
  const seen = pages.filter(([, , needs]) => may(needs));
  const rare = seen.filter(([, , , isRare]) => isRare);
  const isMany = rare.length > mostRare;
  const linkTo = ([to, name]: (typeof pages)[number]) => (
    <Link
      key={to}
      to={to}
      activeOptions={{ exact: to === '/', includeSearch: false }}
      onClick={() => {
        rarer.current?.hidePopover();
        menu.current?.hidePopover();
      }}
      aria-current={to === '/' && isInTree ? 'page' : undefined}
    >
      {t.nav[name]}
    </Link>
  );
  return (
    <>
      <button type="button" className="menu" popoverTarget="pages">
        {t.nav.label}
      </button>
      <nav id="pages" popover="auto" aria-label={t.nav.label} ref={menu}>
        {(isMany ? seen.filter((page) => !rare.includes(page)) : seen).map(linkTo)}
        {isMany && (
          <div className="rarer">
            <button type="button" popoverTarget="rarer">
              {t.nav.more}
            </button>
            <div
              id="rarer"
              popover="auto"
              ref={rarer}
              onBeforeToggle={({ currentTarget }) => {
                // Below its button: not every browser can anchor it there.
                const button = currentTarget.parentElement as HTMLElement;
                const { left, bottom } = button.getBoundingClientRect();
                currentTarget.style.inset = `${bottom}px auto auto ${left}px`;
              }}
            >
              {rare.map(linkTo)}
            </div>
          </div>
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
