/** Code that is fetched when it is needed: a server that is killed meanwhile, or started again, costs a while and not the screen. */
import { lazyRouteComponent } from '@tanstack/react-router';
import { lazy } from 'react';
import { wait } from '../client/backoff.ts';

const betweenTriesMs = 500;
/** For half a minute. */
const mostTries = 60;

// Vite asks for a stylesheet once, and from then on takes it for fetched. The more often that fails, the more rarely it is tried again.
let pauseMs = betweenTriesMs;
addEventListener(
  'error',
  ({ target }) => {
    const link = target as HTMLLinkElement;
    if (!link.rel) return;
    pauseMs *= 1.1;
    setTimeout(() => link.replaceWith(link.cloneNode()), pauseMs);
  },
  true,
);

const persist = <T>(load: () => Promise<T>, tries = mostTries): Promise<T> =>
  load().catch(async (error) => {
    if (tries === 0) throw error;
    await wait(betweenTriesMs);
    return persist(load, tries - 1);
  });

export const lazily: typeof lazy = (load) => lazy(() => persist(load));

export const lazyScreen: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(() => persist(load), name);
