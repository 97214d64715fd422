/** Callbacks: where they go, and what was sent there. */
import type {
  CallbackDeliveryFilter,
  DeliveryFieldsFragment,
  EndpointFieldsFragment,
} from '../generated/operations.ts';
import * as operations from '../generated/operations.ts';
import { answerOf, JobtreeError, payloadOf } from './errors.ts';
import { callOptions, pageOptions, type Send } from './options.ts';
import { toPage } from './page.ts';
import type { CallOptions, Page, PageOptions } from './types.ts';

/** Where callbacks go. Times are text in ISO 8601. */
export type CallbackEndpoint = EndpointFieldsFragment;
/** A message to an endpoint, and what came of sending it. Times are text in ISO 8601. */
export type CallbackDelivery = DeliveryFieldsFragment;

const mostInAnswer = 1_000;
const rotateOptions = { ...callOptions, keepPreviousMs: true };
const deliveriesOptions = { ...pageOptions, filter: true };

/** `client.callbacks`. */
export class Callbacks {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * Creates an endpoint, or changes the URL of the one with this name.
   *
   * @returns `secret` of a new endpoint, for its receiver; it is never shown again. Null if an endpoint of this name existed
   * @throws JobtreeError INVALID_INPUT
   */
  async putEndpoint(
    endpoint: { readonly name: string; readonly url: string },
    options: CallOptions = {},
  ): Promise<{ endpoint: CallbackEndpoint; secret: string | null }> {
    const data = await this.#send(operations.PutCallbackEndpoint, { input: endpoint }, options, false);
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
    options: CallOptions & { readonly keepPreviousMs?: number | undefined } = {},
  ): Promise<{ endpoint: CallbackEndpoint; secret: string }> {
    const { keepPreviousMs } = options;
    const input = { name, ...(keepPreviousMs !== undefined && { keepPreviousMs }) };
    const data = await this.#send(operations.RotateCallbackSecret, { input }, options, false, rotateOptions);
    return payloadOf(data.rotateCallbackSecret);
  }

  /**
   * Deletes an endpoint. Messages that are still to be sent there fail.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async deleteEndpoint(name: string, options: CallOptions = {}): Promise<void> {
    const data = await this.#send(operations.DeleteCallbackEndpoint, { input: { name } }, options, false);
    payloadOf(data.deleteCallbackEndpoint);
  }

  /** All endpoints, by name. */
  async endpoints(options: CallOptions = {}): Promise<CallbackEndpoint[]> {
    const all: CallbackEndpoint[] = [];
    for (;;) {
      const variables = { first: mostInAnswer, after: all.at(-1)?.name };
      const data = await this.#send(operations.CallbackEndpoints, variables, options, true);
      const endpoints = answerOf(data.callbackEndpoints);
      all.push(...endpoints);
      if (endpoints.length < mostInAnswer) return all;
    }
  }

  /** Lists deliveries, done or still to be made, newest first. */
  async deliveries(
    options: PageOptions & { readonly filter?: CallbackDeliveryFilter } = {},
  ): Promise<Page<CallbackDelivery>> {
    const { first, after, filter } = options;
    const variables = { first, after, filter };
    const data = await this.#send(operations.CallbackDeliveries, variables, options, true, deliveriesOptions);
    return toPage(answerOf(data.callbackDeliveries));
  }

  /** @throws JobtreeError NOT_FOUND */
  async delivery(id: string, options: CallOptions = {}): Promise<CallbackDelivery> {
    const { node } = await this.#send(operations.CallbackDelivery, { id }, options, true);
    if (node == null || !('messageId' in node))
      throw new JobtreeError('NOT_FOUND', `There is no delivery ${id}.`);
    return node as CallbackDelivery;
  }

  /**
   * Sends a delivery at once, whatever came of it before. If that fails, it is tried again for about a day.
   *
   * @throws JobtreeError NOT_FOUND
   */
  async retryDelivery(id: string, options: CallOptions = {}): Promise<CallbackDelivery> {
    const data = await this.#send(
      operations.RetryCallbackDelivery,
      { input: { deliveryId: id } },
      options,
      true,
    );
    return payloadOf(data.retryCallbackDelivery).delivery;
  }
}
