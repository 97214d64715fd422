/** A worker's metrics, through the metrics API of OpenTelemetry: nothing is measured unless an SDK is registered before the worker is created. */
import { type Attributes, metrics } from '@opentelemetry/api';
import { operation, system } from '../tracing.ts';

/** The metrics of one type. */
export class Meters {
  readonly #attributes: Attributes;
  readonly #duration;
  readonly #consumed;
  readonly #active;

  constructor(type: string) {
    const meter = metrics.getMeter(system);
    this.#attributes = operation('process', 'process', type);
    this.#duration = meter.createHistogram('messaging.process.duration', {
      description: 'Duration of handler calls.',
      unit: 's',
      advice: {
        explicitBucketBoundaries: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
      },
    });
    this.#consumed = meter.createCounter('messaging.client.consumed.messages', {
      description: 'Items passed to a handler.',
      unit: '{message}',
    });
    this.#active = meter.createUpDownCounter('jobtree.worker.active', {
      description: 'Running handlers.',
      unit: '{handler}',
    });
  }

  began(): void {
    this.#consumed.add(1, this.#attributes);
    this.#active.add(1, this.#attributes);
  }

  /** `errorType`: the code of the failure; undefined for a success. */
  ended(ms: number, errorType: string | undefined): void {
    this.#active.add(-1, this.#attributes);
    this.#duration.record(
      ms / 1_000,
      errorType === undefined ? this.#attributes : { ...this.#attributes, 'error.type': errorType },
    );
  }
}
