/** What HTTP serves. */
import type { AppOptions } from './app-options.ts';
import { createDashboard } from './http/dashboard.ts';
import { createGraphiQL } from './http/graphiql.ts';
import type { Yoga } from './http/graphql.ts';
import { createJsonPost } from './http/json-post.ts';
import { createMetrics } from './http/metrics.ts';
import { createMultipartPost } from './http/multipart-post.ts';
import { createResults } from './http/results.ts';
import { UploadStore } from './http/upload-store.ts';
import { createUploads } from './http/uploads.ts';
import type { Inside } from './wire-graphql.ts';

export function wireRoutes(
  { config, logger }: AppOptions,
  { callers, engine, events, lifetime, uploads }: Inside,
  yoga: Yoga,
) {
  const { callerOf, openRequests, operations, ownerOf, rates } = callers;
  const store = new UploadStore({ uploads, maxBytes: config.maxUploadBytes });
  return {
    yoga,
    metrics: createMetrics({
      engine,
      callerOf,
      isOn: config.metrics,
      mostTypes: config.metricsTypes,
      logger,
    }),
    pages: [
      createGraphiQL({ endpoint: yoga.graphqlEndpoint, isShown: config.graphiql }),
      ...createDashboard(config),
    ],
    results: createResults({
      database: events.database,
      callerOf,
      ownerOf,
      take: (request, bytes) => openRequests.take(request, bytes),
      closing: lifetime.closing,
      logger,
    }),
    uploads: createUploads({
      uploads,
      callerOf,
      store,
      ownerOf,
      isClosing: () => lifetime.isClosing,
      logger,
    }),
    uploadBytes: uploads.streamedBytes,
    multipartPost: createMultipartPost({ yoga, operations, rates, store, callerOf, ownerOf }),
    jsonPost: createJsonPost({ yoga, operations, rates, ownerOf, maxBytes: config.maxRequestBytes }),
  };
}
