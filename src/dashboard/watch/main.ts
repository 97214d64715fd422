/**
 * The page of one tree for whoever has a link with a watch token: its progress, its jobs, and its results if the token shows them. It has none of the
 * dashboard's packages. The token is in the fragment of the URL, which browsers send to nobody.
 */
import { Credentials } from '../../client/credentials.ts';
import type { JobTreeProgress, JobtreeProgress, JobtreeProgressEvents } from '../../client/element.ts';
import '../../client/element.ts';
import { JobtreeError } from '../../client/errors.ts';
import { Http } from '../../client/http.ts';
import { byFetch } from '../../client/post.ts';
import { WatchedCompletion, WatchedResults, WatchedTree } from '../../generated/dashboard.ts';
import { exactly } from '../data/exact-json.ts';
import { stringify } from '../parts/json.ts';
import { textsOfReader } from '../texts/watch.ts';
import '../styles.css';
import './watch.css';
import { claimsOf, toLink } from './link.ts';

const t = textsOfReader();
// The element says how far the tree is in it, too.
document.documentElement.lang = t.locale;
const url = new URL('../../graphql', document.baseURI).href;
const { tree, token } = toLink(location.hash);
const claims = claimsOf(token);
const credentials = new Credentials({}, token);
const http = new Http({
  url,
  credentials,
  post: exactly(byFetch(fetch)),
  retryMs: 60_000,
  timeoutMs: 30_000,
  onRetry: undefined,
});
const content = document.getElementById('content') as HTMLElement;
/** How often it is asked whether somebody has reopened the tree, once it is complete. */
const reopenedMs = 30_000;
const forgottenMs = 1_500;

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const problem = element('p', { className: 'problem' });
problem.setAttribute('role', 'alert');

function say(error: unknown): void {
  const { code, message } = error as { code?: unknown; message: string };
  problem.textContent =
    code === 'UNAUTHENTICATED'
      ? t.ended
      : code === 'NOT_FOUND' || code === 'INVALID_INPUT'
        ? t.gone
        : message;
}

/** A button that says what went wrong, and does nothing twice at a time. */
function button(label: string, act: () => Promise<void>): HTMLButtonElement {
  const made = element('button', { type: 'button' }, label);
  made.addEventListener('click', async () => {
    made.disabled = true;
    try {
      await act();
    } catch (error) {
      say(error);
    } finally {
      made.disabled = false;
    }
  });
  return made;
}

function toJobs(jobs: readonly { id: string; type: string; parent?: { id: string } | null }[]) {
  const list = element('ul', { className: 'jobs' });
  const depths = new Map<string, number>();
  const rows = new Map<string, HTMLElement>();
  for (const { id, type, parent } of jobs) {
    const depth = parent == null ? 0 : (depths.get(parent.id) ?? 0) + 1;
    depths.set(id, depth);
    const state = element('span', { className: 'quiet' });
    const row = element('li', {}, element('strong', {}, type), ' ', state);
    row.style.paddingInlineStart = `${depth * 1.25}rem`;
    rows.set(id, state);
    list.append(row);
  }
  const show = (progress: JobTreeProgress) => {
    for (const job of progress.jobs) {
      const state = rows.get(job.jobId);
      if (state !== undefined) state.textContent = t.job(job);
    }
  };
  return { list, show };
}

function toResults(): HTMLElement {
  const list = element('ol', { className: 'results' });
  let after: string | null | undefined;
  const more = button(t.showResults, async () => {
    const { job } = await http.request(
      WatchedResults,
      { id: tree, after: after ?? null },
      { repeatable: true },
    );
    if (job == null) throw new JobtreeError('NOT_FOUND', t.gone);
    const { nodes, pageInfo } = job.results;
    for (const { result } of nodes) list.append(element('li', {}, element('code', {}, stringify(result))));
    after = pageInfo.endCursor ?? after;
    more.textContent = pageInfo.hasNextPage ? t.more : t.newResults;
    none.hidden = list.children.length > 0;
  });
  const none = element('p', { className: 'quiet', hidden: true }, t.noResults);
  const download = button(t.download, async () => {
    const path = new URL(`../../api/jobs/${tree}/results`, document.baseURI);
    const response = await fetch(path, { headers: await credentials.headers() });
    if (!response.ok) throw new Error(response.status === 401 ? t.ended : t.noDownload(response.status));
    const href = URL.createObjectURL(await response.blob());
    element('a', { href, download: 'results.ndjson' }).click();
    URL.revokeObjectURL(href);
  });
  const buttons = element('div', { className: 'buttons' }, more, download);
  return element('section', {}, element('h2', {}, t.results), list, none, buttons);
}

/** Follows the complete tree again once it is open again. A page that nobody sees asks nothing. */
async function followAgain(bar: JobtreeProgress): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, reopenedMs));
    if (document.hidden) continue;
    try {
      const { job } = await http.request(WatchedCompletion, { id: tree }, { repeatable: true });
      if (job == null) return;
      if (job.treeProgress?.complete === false) break;
    } catch (error) {
      if (error instanceof JobtreeError && error.code === 'UNAUTHENTICATED') return;
    }
  }
  bar.tree = '';
  // What it knew is kept for a second.
  setTimeout(() => {
    bar.tree = tree;
  }, forgottenMs);
}

async function show(): Promise<void> {
  if (tree === '' || claims === undefined) throw new Error(t.incomplete);
  const { job } = await http.request(WatchedTree, { id: tree }, { repeatable: true });
  if (job == null) throw new JobtreeError('NOT_FOUND', t.gone);
  const jobs = toJobs(job.tree);
  const state = element('p', { className: 'state' });
  state.setAttribute('role', 'status');
  const bar = element('jobtree-progress', { url, tree, token });
  bar.setAttribute('label', t.title(job.type));
  const on = <K extends keyof JobtreeProgressEvents>(
    name: K,
    act: (detail: JobtreeProgressEvents[K]['detail']) => void,
  ) => bar.addEventListener(name, (event) => act((event as JobtreeProgressEvents[K]).detail));
  on('progress', (progress) => {
    // Not before: without anything that it knows, the page is not live.
    if (freshness.childElementCount === 0) since(undefined);
    const words = t.state(progress);
    document.title = `${words}: ${job.type}`;
    if (state.textContent !== words) state.textContent = words;
    jobs.show(progress);
  });
  const freshness = element('p', { className: 'freshness' });
  freshness.setAttribute('role', 'status');
  const since = (away: Date | undefined) => {
    const mark = element('span', {}, away === undefined ? t.live : t.asOf(t.clock(away.getTime())));
    mark.dataset.live = String(away === undefined);
    freshness.replaceChildren(mark);
  };
  on('disconnected', since);
  on('connected', () => since(undefined));
  // What is final does not become older, unless its failures are replayed.
  on('complete', () => {
    freshness.replaceChildren();
    void followAgain(bar);
  });
  on('error', (error) => {
    since(new Date());
    say(error);
  });
  document.title = job.type;
  content.replaceChildren(
    element('h1', {}, t.title(job.type)),
    state,
    freshness,
    bar,
    problem,
    // Of a single job, the bar has said all.
    ...(job.tree.length > 1 ? [element('h2', {}, t.jobs), jobs.list] : []),
    ...(claims.sees === 'RESULTS' ? [toResults()] : []),
    element('p', { className: 'quiet' }, t.validUntil(claims.expiresMs)),
  );
}

// Another link in the same tab.
addEventListener('hashchange', () => location.reload());
content.replaceChildren(element('p', { className: 'quiet' }, t.loading));
await show().catch((error) => {
  say(error);
  content.replaceChildren(element('h1', {}, t.heading), problem);
});
