/** Queries that are live: each event is a whole answer. */
import type { Document } from '../../client/document.ts';
import { type Live, type LiveSource, useLive } from './live.ts';

type Answers<T> = { readonly live: T };

/** The answer to a query that is asked again by the server whenever it may have changed. */
export function useAnswer<T, V extends object>(document: Document<Answers<T>, V>, variables: V): Live<T> {
  const source: LiveSource<Answers<T>, V, T> = {
    document,
    variables: () => variables,
    next: (_, { live }) => live,
    isAnswer: true,
  };
  return useLive(`${document} ${JSON.stringify(variables)}`, source);
}
