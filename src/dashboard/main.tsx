/** The dashboard. Vite bundles it (tools/build-dashboard.ts), and src/server/http/dashboard.ts serves it. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { type AsyncRouteComponent, RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { JobtreeError } from '../client/errors.ts';
import { router } from './router.tsx';
import { loadLanguage } from './texts/texts.ts';
import './styles.css';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The client under it has tried again already, where that helps.
      retry: false,
      staleTime: 2_000,
      throwOnError: (error) => !(error instanceof JobtreeError),
    },
  },
});

/** Whether somebody comes back from the issuer at which they signed in, or is on the way there in a window of its own. */
const isSigningIn = /[?&]state=/.test(location.search) || location.hash.startsWith('#sign-in=');

if (isSigningIn) void import('./data/arrival.ts').then(({ arrive }) => arrive());
else {
  // The code of the screen is on its way before there is anything to draw, but the router loads nothing yet: till it is drawn, it would not see
  // that the address changes.
  const screen = router.getMatchedRoutes(router.latestLocation.pathname)[0].at(-1)?.options.component;
  void (screen as AsyncRouteComponent<object> | undefined)?.preload?.();
  void loadLanguage().then(show);
}

function show(): void {
  createRoot(document.getElementById('dashboard') as HTMLElement).render(
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}
