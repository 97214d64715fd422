/** Where uploads are: tests of files run over both. */
import { afterAll, beforeAll } from 'vitest';
import { type Swift, startSwift, withoutSwift } from './swift.ts';

export type StoreKind = 'Postgres' | 'S3';
export const storeKinds: readonly StoreKind[] = withoutSwift ? ['Postgres'] : ['Postgres', 'S3'];

export interface TestStore {
  /** Of a server that has its uploads there. */
  readonly settings: Record<string, string>;
  readonly swift: Swift | undefined;
}

/** To be called before `useServer`. */
export function useStore(kind: StoreKind): TestStore {
  const store: { settings: Record<string, string>; swift: Swift | undefined } = {
    settings: {},
    swift: undefined,
  };
  beforeAll(async () => {
    if (kind === 'Postgres') return;
    store.swift = await startSwift();
    store.settings = store.swift.settings();
  });
  afterAll(() => store.swift?.stop());
  return store;
}
