/** The page of GraphiQL. It is bundled for browsers by tools/build-server.ts and served by src/server/http/graphiql.ts. */
import { GraphiQL, type GraphiQLProps } from 'graphiql';
import { createClient, type RequestParams } from 'graphql-sse';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';

type Fetcher = GraphiQLProps['fetcher'];

const url = location.pathname;
const root = document.getElementById('graphiql') as HTMLElement;
const defaultTabs = JSON.parse(root.dataset.tabs ?? '[]') as NonNullable<GraphiQLProps['defaultTabs']>;

/** Subscriptions use server-sent events: unlike a WebSocket, they carry the headers that the user enters. */
const fetcher: Fetcher = (params, { documentAST, headers = {} } = {}) => {
  const isSubscription = documentAST?.definitions.some(
    (one) =>
      one.kind === 'OperationDefinition' &&
      one.operation === 'subscription' &&
      (params.operationName == null || one.name?.value === params.operationName),
  );
  if (isSubscription) {
    const events = createClient({ url, headers, retryAttempts: 0 });
    return events.iterate(params as RequestParams) as ReturnType<Fetcher>;
  }
  return ask(params, headers);
};

async function ask(params: object, headers: Record<string, string>) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(params),
  });
  return response.json();
}

/** A link may carry an operation: /graphql?query=…&variables=… */
const link = new URLSearchParams(location.search);
const query = link.get('query');
const variables = link.get('variables');

createRoot(root).render(
  createElement(GraphiQL, {
    fetcher,
    defaultTabs,
    ...(query !== null && { query, variables: variables ?? '' }),
  }),
);
