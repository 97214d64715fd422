/** The spans of one item in a worker: `claim` and `process` below the span that sent it, and `report` below `process`. */
import { type Context, context, type Span, SpanKind, trace } from '@opentelemetry/api';
import { extract, failSpan, isTraced, named, operation, tracer } from '../tracing.ts';
import type { Assignment } from '../types.ts';

export class ItemTrace {
  readonly #assignment: Assignment;
  readonly #worker: string;
  readonly #parent: Context;
  #process: Span | undefined;
  #active: Context;
  #report: Span | undefined;

  /** Returns undefined without tracing. `sentAt`: when the claim was sent, on the monotonic clock. */
  static begin(assignment: Assignment, worker: string, sentAt: number): ItemTrace | undefined {
    return isTraced() ? new ItemTrace(assignment, worker, sentAt) : undefined;
  }

  private constructor(assignment: Assignment, worker: string, sentAt: number) {
    this.#assignment = assignment;
    this.#worker = worker;
    const sent = extract(assignment.traceContext);
    const claim = this.#start('claim', 'receive', SpanKind.CONSUMER, sent, sentAt);
    claim.end();
    // The producer's span is the parent of both spans. Without one, the trace begins with the claim.
    this.#parent = assignment.traceContext == null ? trace.setSpan(sent, claim) : sent;
    this.#active = this.#parent;
  }

  /** Runs the handler within its span, which becomes the parent of what the handler does. */
  run<T>(handler: () => T): T {
    this.#process = this.#start('process', 'process', SpanKind.CONSUMER, this.#parent);
    this.#process.setAttribute('jobtree.attempt', this.#assignment.attempt);
    this.#active = trace.setSpan(this.#parent, this.#process);
    return context.with(this.#active, handler);
  }

  /** The handler has settled; its outcome goes to the server. */
  settle(failure: { code: string; message: string } | undefined): void {
    this.#close(failure);
    this.#report?.end();
    this.#report = this.#start('report', 'settle', SpanKind.CLIENT, this.#active);
  }

  /** Takes the server's answer to the outcome. */
  reported(status: string): void {
    if (this.#report === undefined) return;
    this.#report.setAttribute('jobtree.report.status', status);
    if (status === 'STALE' || status === 'INVALID') failSpan(this.#report, { code: status });
    this.#report.end();
    this.#report = undefined;
  }

  /** The assignment was aborted or given back: its outcome does not count, or there is none. */
  drop(why: string): void {
    this.#close({ code: why, message: 'The outcome does not count.' });
    this.#report?.end();
    this.#report = undefined;
  }

  #close(failure: { code: string; message: string } | undefined): void {
    if (failure !== undefined && this.#process !== undefined) failSpan(this.#process, failure);
    this.#process?.end();
    this.#process = undefined;
  }

  #start(name: string, type: string, kind: SpanKind, parent: Context, startTime?: number): Span {
    const { itemId, jobId, type: destination } = this.#assignment;
    const attributes = {
      ...operation(name, type, destination),
      'messaging.message.id': itemId,
      'messaging.message.conversation_id': jobId,
      'messaging.client.id': this.#worker,
    };
    const options = { kind, attributes, ...(startTime !== undefined && { startTime }) };
    return tracer().startSpan(named(name, destination), options, parent);
  }
}
