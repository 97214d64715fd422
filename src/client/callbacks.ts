/** Callbacks: where they go, and what was sent there. */
import type {
  CallbackDeliveryFilter,
  DeliveryFieldsFragment,
  EndpointFieldsFragment,
} from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { answerOf, JobtreeError, payloadOf } from './errors.ts';
import type { Http } from './http.ts';
import { toPage } from './page.ts';
import type { CallOptions, Page, PageOptions } from './types.ts';

/** Where callbacks go. Times are text in ISO 8601. */
export type CallbackEndpoint = EndpointFieldsFragment;
/** A message to an endpoint, and what came of sending it. Times are text in ISO 8601. */
export type CallbackDelivery = DeliveryFieldsFragment;

const mostInAnswer = 1_000;

/** `client.callbacks`. */
export class Callbacks {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Creates an endpoint, or changes the URL of the one with this name.
   *
   * @returns `secret` of a new endpoint, for its receiver; it is never shown again. Null if an endpoint of this name existed
   * @throws JobtreeError INVALID_INPUT
   */
  async putEndpoint(
    endpoint: { readonly name: string; readonly url: string },
    { signal }: CallOptions = {},
  ): Promise<{ endpoint: CallbackEndpoint; secret: string | null }> {
    const request = { repeatable: false, signal };
    const data = await this.#http.request(operations.PutCallbackEndpoint, { input: endpoint }, request);
    const { secret = null, ...payload } = payloadOf(data.putCallbackEndpoint);
    return { ...payload, secret };
  }

  /**
   * Gives an endpoint a new secret, for its receiver; it is never shown again.
   *
   * @param options `keepPreviousMs`: how long the previous secret signs as well, in milliseconds: up to 30 days. Default: one day
   * @throws JobtreeError NOT_FOUND, INVALID_INPUT
   */
  async rotateSecret(
    name: string,
    { keepPreviousMs, signal }: CallOptions & { readonly keepPreviousMs?: number | undefined } = {},
  ): Promise<{ endpoint: CallbackEndpoint; secret: string }> {
    const input = { name, ...(keepPreviousMs !== undefined && { keepPreviousMs }) };
    const request = { repeatable: false, signal };
    const data = await this.#http.request(operations.RotateCallbackSecret, { input }, request);
    return payloadOf(data.rotateCallbackSecret);
  }

  /**
   * Deletes an endpoint. Messages that are still to be sent there fail.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async deleteEndpoint(name: string, { signal }: CallOptions = {}): Promise<void> {
    const request = { repeatable: false, signal };
    const data = await this.#http.request(operations.DeleteCallbackEndpoint, { input: { name } }, request);
    payloadOf(data.deleteCallbackEndpoint);
  }

  /** All endpoints, by name. */
  async endpoints({ signal }: CallOptions = {}): Promise<CallbackEndpoint[]> {
    const all: CallbackEndpoint[] = [];
    for (;;) {
      const variables = { first: mostInAnswer, after: all.at(-1)?.name };
      const request = { repeatable: true, signal };
      const data = await this.#http.request(operations.CallbackEndpoints, variables, request);
      const endpoints = answerOf(data.callbackEndpoints);
      all.push(...endpoints);
      if (endpoints.length < mostInAnswer) return all;
    }
  }

  /** Lists deliveries, done or still to be made, newest first. */
  async deliveries(
    options: PageOptions & { readonly filter?: CallbackDeliveryFilter } = {},
  ): Promise<Page<CallbackDelivery>> {
    const { first, after, filter, signal } = options;
    const request = { repeatable: true, signal };
    const data = await this.#http.request(operations.CallbackDeliveries, { first, after, filter }, request);
    return toPage(answerOf(data.callbackDeliveries));
  }

  /** @throws JobtreeError NOT_FOUND */
  async delivery(id: string, { signal }: CallOptions = {}): Promise<CallbackDelivery> {
    const { node } = await this.#http.request(
      operations.CallbackDelivery,
      { id },
      { repeatable: true, signal },
    );
    if (node == null || !('messageId' in node))
      throw new JobtreeError('NOT_FOUND', `There is no delivery ${id}.`);
    return node as CallbackDelivery;
  }

  /**
   * Sends a delivery at once, whatever came of it before. If that fails, it is tried again for about a day.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async retryDelivery(id: string, { signal }: CallOptions = {}): Promise<CallbackDelivery> {
    const request = { repeatable: true, signal };
    const data = await this.#http.request(
      operations.RetryCallbackDelivery,
      { input: { deliveryId: id } },
      request,
    );
    return payloadOf(data.retryCallbackDelivery).delivery;
  }
}
