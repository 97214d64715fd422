/**
 * The screens and their addresses. They are in the fragment of the URL, so a server, or a proxy with a prefix, serves one page for all of them, and
 * what people look at is in no log. Every filter is a search parameter: a URL shows somebody else the same.
 */
import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  parseSearchWith,
} from '@tanstack/react-router';
import { isRounded } from '../domain/values/exact-numbers.ts';
import { text, toAuditSearch, toTreesSearch } from './data/tree-search.ts';
import { lazyScreen } from './lazily.ts';
import type { Sought } from './parts/item-search.tsx';
import { TreesScreen } from './screens/trees.tsx';
import { NotFound, Shell } from './shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const count = (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;

const trees = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: TreesScreen,
  validateSearch: toTreesSearch,
});

export interface TreeSearch extends Sought {
  /** The job whose items are shown. */
  readonly job?: string | undefined;
  readonly status?: string | undefined;
  /** What the strip shows of them: the numbers of the first and the last item. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

const screens = [
  trees,
  createRoute({
    getParentRoute: () => root,
    path: '/trees/$id',
    component: lazyScreen(() => import('./screens/tree.tsx')),
    validateSearch: (search): TreeSearch => ({
      job: text(search.job),
      status: text(search.status),
      from: count(search.from),
      to: count(search.to),
      find: text(search.find),
      path: text(search.path),
      code: text(search.code),
      key: text(search.key),
    }),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/items/$id',
    component: lazyScreen(() => import('./screens/item.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/dead-letters',
    component: lazyScreen(() => import('./screens/dead-letters.tsx')),
    validateSearch: (search): { type?: string | undefined; code?: string | undefined } => ({
      type: text(search.type),
      code: text(search.code),
    }),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/dead-letters/$id',
    component: lazyScreen(() => import('./screens/dead-letter-group.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/queues',
    component: lazyScreen(() => import('./screens/queues.tsx')),
    validateSearch: (search): { find?: string | undefined; range?: string | undefined } => ({
      find: text(search.find),
      range: text(search.range),
    }),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/queues/$type',
    component: lazyScreen(() => import('./screens/queue.tsx')),
    validateSearch: (search): { range?: string | undefined } => ({ range: text(search.range) }),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/workers',
    component: lazyScreen(() => import('./screens/workers.tsx')),
    validateSearch: (
      search,
    ): { slow?: boolean | undefined; worker?: string | undefined; type?: string | undefined } => ({
      slow: search.slow === true || undefined,
      worker: text(search.worker),
      type: text(search.type),
    }),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/keys',
    component: lazyScreen(() => import('./screens/keys.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/imports',
    component: lazyScreen(() => import('./screens/imports.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/schedules',
    component: lazyScreen(() => import('./screens/schedules.tsx')),
    validateSearch: (search): { view?: 'week' | 'month' | undefined; day?: string | undefined } => ({
      view: search.view === 'week' || search.view === 'month' ? search.view : undefined,
      day: /^\d{4}-\d\d-\d\d$/.test(String(search.day)) ? String(search.day) : undefined,
    }),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/operations',
    component: lazyScreen(() => import('./screens/operations.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/callbacks',
    component: lazyScreen(() => import('./screens/callbacks.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/api-keys',
    component: lazyScreen(() => import('./screens/api-keys.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/audit',
    component: lazyScreen(() => import('./screens/audit.tsx')),
    validateSearch: toAuditSearch,
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/system',
    component: lazyScreen(() => import('./screens/system.tsx')),
  }),
] as const;

/** An address that was cut short within an encoded character, which the router could not decode. Listens before the router does. */
function mendAddress(): void {
  try {
    decodeURIComponent(location.hash);
  } catch {
    history.replaceState(history.state, '', location.hash.replaceAll('%', '%25'));
  }
}
mendAddress();
for (const change of ['popstate', 'hashchange']) addEventListener(change, mendAddress);

export const router = createRouter({
  routeTree: root.addChildren(screens),
  history: createHashHistory(),
  scrollRestoration: true,
  // What is looked for may be a number with more digits than JavaScript has.
  parseSearch: parseSearchWith((text) => (isRounded(text) ? text : JSON.parse(text))),
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
