/** The dashboard. Vite bundles it (tools/build-dashboard.ts), and src/server/http/dashboard.ts serves it. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { JobtreeError } from '../client/errors.ts';
import { router } from './router.tsx';
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

createRoot(document.getElementById('dashboard') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
