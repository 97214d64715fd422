/** Code that is fetched when it is needed: a server that is killed meanwhile, or started again, costs a while and not the screen. */
import { lazyRouteComponent } from '@tanstack/react-router';
import { lazy } from 'react';

const betweenTriesMs = 500;
/** For half a minute. */
const mostTries = 60;

async function persist<T>(load: () => Promise<T>, tries = mostTries): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (tries === 0) throw error;
    await new Promise((again) => setTimeout(again, betweenTriesMs));
    return persist(load, tries - 1);
  }
}

export const lazily: typeof lazy = (load) => lazy(() => persist(load));

export const lazyScreen: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(() => persist(load), name);
