/**
 * Traces and metrics through the API of OpenTelemetry. Unless the user registers an SDK, nothing is created, sent or stored.
 *
 * An item's trace: the producer's `send`, below it the worker's `claim` and `process`, and `report` below `process`. Names and
 * attributes are those of the semantic conventions for messaging:
 * https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
 */
import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { type TraceContextInput, TypedDocumentString } from '../generated/operations.ts';
import type { Document } from './document.ts';

export const system = 'jobtree';

/** Whether a propagator is registered, which carries contexts between processes. */
export function isTraced(): boolean {
  return propagation.fields().length > 0;
}

export const tracer = () => trace.getTracer(system);

/** The items that a producer sends. */
export interface Sent {
  /** The type of the job, if the call names it. */
  readonly type?: string | undefined;
  readonly jobId?: string | undefined;
  /** If it is known. */
  readonly count: number | undefined;
}

/** Sends new items within their own span, whose context travels with them. */
export async function sendTraced<T>(
  { type, jobId, count }: Sent,
  send: (traceContext: TraceContextInput | undefined) => Promise<T>,
): Promise<T> {
  if (!isTraced()) return send(undefined);
  const attributes: Attributes = {
    ...operation('send', 'send', type),
    ...(count !== undefined && { 'messaging.batch.message_count': count }),
    ...(jobId !== undefined && { 'messaging.message.conversation_id': jobId }),
  };
  const span = tracer().startSpan(named('send', type), { kind: SpanKind.PRODUCER, attributes });
  const active = trace.setSpan(context.active(), span);
  try {
    return await context.with(active, () => send(inject(active)));
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/**
 * An operation that returns assignments, extended by their trace contexts if a propagator is registered. The extended text is a
 * separate document, so that it costs nothing without tracing, and a server that knows no trace contexts is not asked for them.
 */
export function withTraces<R, V>(document: Document<R, V>): Document<R, V> {
  if (!isTraced()) return document;
  let traced = tracedDocuments.get(document);
  if (traced === undefined) {
    const fields = 'heartbeatIntervalMs traceContext { traceparent tracestate }';
    traced = new TypedDocumentString(document.toString().replace('heartbeatIntervalMs', fields));
    tracedDocuments.set(document, traced);
  }
  return traced as Document<R, V>;
}

const tracedDocuments = new WeakMap<object, object>();

const w3c = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

export function inject(active: Context): TraceContextInput | undefined {
  const carrier: { traceparent?: string; tracestate?: string } = {};
  propagation.inject(active, carrier);
  const { traceparent, tracestate = '' } = carrier;
  // Other propagators have other headers, or forms that the server would refuse. Tracing must not make a call fail.
  if (traceparent === undefined || !w3c.test(traceparent)) return undefined;
  return { traceparent, tracestate: /^[ -~]{1,512}$/.test(tracestate) ? tracestate : undefined };
}

export function extract(
  carrier: { traceparent: string; tracestate?: string | null } | null | undefined,
): Context {
  if (carrier == null) return ROOT_CONTEXT;
  const { traceparent, tracestate } = carrier;
  return propagation.extract(ROOT_CONTEXT, { traceparent, ...(tracestate != null && { tracestate }) });
}

export function operation(name: string, type: string, destination: string | undefined): Attributes {
  return {
    'messaging.system': system,
    'messaging.operation.name': name,
    'messaging.operation.type': type,
    ...(destination !== undefined && { 'messaging.destination.name': destination }),
  };
}

export const named = (name: string, type: string | undefined) =>
  type === undefined ? name : `${name} ${type}`;

export function failSpan(span: Span, error: unknown): void {
  const { code, name, message } = (error ?? {}) as { code?: unknown; name?: string; message?: string };
  span.setAttribute('error.type', typeof code === 'string' ? code : (name ?? '_OTHER'));
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
}
