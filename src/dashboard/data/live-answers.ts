/** Queries that are live: each event is a whole answer. */
import type { Document } from '../../client/document.ts';
import { type Live, type LiveSource, useLive } from './live.ts';

type Answers<T> = { readonly live: T };

/** The answer to a query that is asked again by the server whenever it may have changed; without variables nothing is asked. */
export function useAnswer<T, V extends object>(
  document: Document<Answers<T>, V>,
  variables: V | undefined,
): Live<T> {
  const source: LiveSource<Answers<T>, V, T> = {
    document,
    variables: () => variables as V,
    next: (_, { live }) => live,
    isAnswer: true,
  };
  return useLive(variables && `${document} ${JSON.stringify(variables)}`, source);
}
