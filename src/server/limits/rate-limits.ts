/**
 * Limits how many operations a caller, or all callers of a tenant together, may send per second, and their total cost as the schema counts it.
 * Anything that is not an executable operation counts as one: what can't be read, parsed or validated, and uploads, exports and metrics. Each
 * server counts for itself. Answers say how much is left, as `draft-ietf-httpapi-ratelimit-headers` specifies.
 *
 * Operations that keep leases alive are refused last. Reports draw on the same limits, but may go on when everything else has used them up, and
 * heartbeats may go on when reports have. So nothing that a caller does with its items costs it any of them.
 */
import type { IncomingMessage } from 'node:http';
import {
  type ExecutionArgs,
  GraphQLError,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  getDirectiveValues,
  getOperationAST,
  Kind,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Storer } from '../../domain/access/stored.ts';
import type { Services } from '../../schema/core/services.ts';
import { costOf } from './cost-of.ts';
import { creationsIn } from './creations-in.ts';

/** Null for no limit. */
export interface Rates {
  readonly requestsPerSecond: number | null;
  readonly costPerSecond: number | null;
}

/** 0: everything else; 1: reports of finished work and what goes with them; 2: heartbeats. */
type Urgency = 0 | 1 | 2;
const urgencies = [0, 1, 2] as const;

/** How many owners are remembered; one that is forgotten starts with a full bucket. */
const mostRemembered = 20_000;
const leastRetrySeconds = 1;

/** One token bucket per urgency: for everything, for reports and heartbeats, and for heartbeats alone. */
export class Allowance {
  readonly perSecond: number;
  readonly #tokens: [number, number, number];
  #at = performance.now();

  constructor(perSecond: number) {
    this.perSecond = perSecond;
    this.#tokens = [perSecond, perSecond, perSecond];
  }

  /** Milliseconds until the amount is available. A full bucket gives more than a second's worth, and then has a debt. */
  waitMs(amount: number, urgency: Urgency): number {
    this.#refill();
    const missing = Math.min(amount, this.perSecond) - this.#tokens[urgency];
    return Math.max(0, (missing / this.perSecond) * 1_000);
  }

  take(amount: number, urgency: Urgency): void {
    this.#refill();
    for (const one of urgencies) if (one <= urgency) this.#tokens[one] -= amount;
  }

  /** What is left for operations that are not urgent. */
  get left(): number {
    this.#refill();
    return Math.max(0, Math.floor(this.#tokens[0]));
  }

  /** Seconds until the bucket is full. */
  get resetSeconds(): number {
    this.#refill();
    return Math.ceil((this.perSecond - this.#tokens[0]) / this.perSecond);
  }

  #refill(): void {
    const now = performance.now();
    const more = ((now - this.#at) / 1_000) * this.perSecond;
    for (const one of urgencies) this.#tokens[one] = Math.min(this.perSecond, this.#tokens[one] + more);
    this.#at = now;
  }
}

interface Policy {
  readonly name: string;
  readonly allowance: Allowance;
  readonly amount: number;
}

type SetHeaders = (request: IncomingMessage, headers: Readonly<Record<string, string>>) => void;

/** What is known of an operation, over HTTP or on a socket, before its context is made. */
interface Initial {
  readonly req?: IncomingMessage;
  readonly request?: unknown;
  readonly owner?: Storer;
}

export class RateLimits {
  readonly #ofCaller: Rates;
  readonly #ofTenant: Rates;
  readonly #ownerOf: (request: IncomingMessage) => Storer;
  readonly #setHeaders: SetHeaders;
  readonly #allowances = new LRUCache<string, Allowance>({ max: mostRemembered });

  /** `setHeaders` adds headers to an HTTP answer that has not begun. */
  constructor(options: {
    caller: Rates;
    tenant: Rates;
    ownerOf: (request: IncomingMessage) => Storer;
    setHeaders: SetHeaders;
  }) {
    this.#ownerOf = options.ownerOf;
    this.#ofCaller = options.caller;
    this.#ofTenant = options.tenant;
    this.#setHeaders = options.setHeaders;
  }

  /** Why an operation may not run; undefined if it may, which counts it. */
  refuse(args: ExecutionArgs): GraphQLError | undefined {
    const context = args.contextValue as unknown as Services & Initial;
    const { engine, caller } = context;
    const owner = { tenant: engine.tenant, account: engine.account, limits: caller.limits };
    return this.#refuse(owner, requestOf(context), args);
  }

  /** The same for anything but an executable operation. */
  refuseOther(initial: Initial): GraphQLError | undefined {
    const request = requestOf(initial);
    const owner = initial.owner ?? (request && this.#ownerOf(request));
    return owner && this.#refuse(owner, request, undefined);
  }

  /** Whether only reports and heartbeats may still run, so that large texts need not be parsed. */
  isUsedUp(initial: Initial): boolean {
    const request = requestOf(initial);
    const owner = initial.owner ?? (request && this.#ownerOf(request));
    if (owner === undefined) return false;
    return this.#policies(owner, () => 1).some(({ allowance, amount }) => allowance.waitMs(amount, 0) > 0);
  }

  /** Whether the caller or its tenant has a cost limit, against which bytes count. */
  countBytes(request: IncomingMessage): boolean {
    return this.#policies(this.#ownerOf(request), () => 1).some(({ name }) => costs.has(name));
  }

  /** Charges transferred bytes afterwards: the cost of one value per kilobyte. */
  takeBytes(request: IncomingMessage, bytes: number): void {
    const amount = Math.floor(bytes / bytesOfValue);
    if (amount === 0) return;
    for (const { name, allowance } of this.#policies(this.#ownerOf(request), () => amount))
      if (costs.has(name)) allowance.take(amount, 0);
  }

  #refuse(
    owner: Storer,
    request: IncomingMessage | undefined,
    args: ExecutionArgs | undefined,
  ): GraphQLError | undefined {
    const times = args === undefined ? 1 : creationsIn(args);
    const policies = this.#policies(owner, () => Math.max(1, (args && costOf(args)) ?? 1) * times, times);
    if (policies.length === 0) return undefined;
    const urgency = args === undefined ? 0 : urgencyOf(args);
    let worst: { policy: Policy; ms: number } | undefined;
    for (const policy of policies) {
      const ms = policy.allowance.waitMs(policy.amount, urgency);
      if (ms > 0 && ms > (worst?.ms ?? 0)) worst = { policy, ms };
    }
    if (worst === undefined) for (const { allowance, amount } of policies) allowance.take(amount, urgency);
    if (request !== undefined) this.#setHeaders(request, headersOf(policies));
    return worst && refusalOf(worst.policy, worst.ms);
  }

  #policies({ tenant, account, limits }: Storer, costOf: () => number, times = 1): Policy[] {
    const requests = limits?.requestsPerSecond ?? this.#ofCaller.requestsPerSecond;
    const cost = limits?.costPerSecond ?? this.#ofCaller.costPerSecond;
    const ofTenant = tenant ? this.#ofTenant : noRates;
    const policies: Policy[] = [];
    if (requests !== null) policies.push(this.#policy('requests', account ?? '', requests, times));
    if (ofTenant.requestsPerSecond !== null)
      policies.push(this.#policy('tenant-requests', tenant ?? '', ofTenant.requestsPerSecond, times));
    if (cost === null && ofTenant.costPerSecond === null) return policies;
    const amount = costOf();
    if (cost !== null) policies.push(this.#policy('cost', account ?? '', cost, amount));
    if (ofTenant.costPerSecond !== null)
      policies.push(this.#policy('tenant-cost', tenant ?? '', ofTenant.costPerSecond, amount));
    return policies;
  }

  #policy(name: string, owner: string, perSecond: number, amount: number): Policy {
    const key = `${name} ${owner}`;
    let allowance = this.#allowances.get(key);
    // The key may have been recreated with another limit.
    if (allowance?.perSecond !== perSecond) {
      allowance = new Allowance(perSecond);
      this.#allowances.set(key, allowance);
    }
    return { name, allowance, amount };
  }
}

/** The same rate as in answers: until it is written, a value takes up to a kilobyte. */
const bytesOfValue = 1_000;
const costs = new Set(['cost', 'tenant-cost']);

/** Node's own request: Yoga has it in `req`, beside its own in `request`. */
function requestOf({ req, request }: Initial): IncomingMessage | undefined {
  return req ?? (request as IncomingMessage | undefined);
}

const noRates: Rates = { requestsPerSecond: null, costPerSecond: null };

function headersOf(policies: readonly Policy[]): Record<string, string> {
  return {
    'ratelimit-policy': policies
      .map(({ name, allowance }) => `"${name}";q=${allowance.perSecond};w=1`)
      .join(', '),
    ratelimit: policies
      .map(({ name, allowance }) => `"${name}";r=${allowance.left};t=${allowance.resetSeconds}`)
      .join(', '),
  };
}

const meanings: Readonly<Record<string, string>> = {
  requests: 'This caller sends more operations a second than it may',
  cost: 'The operations of this caller cost more a second than they may',
  'tenant-requests': 'This tenant sends more operations a second than it may',
  'tenant-cost': 'The operations of this tenant cost more a second than they may',
};

function refusalOf({ name, allowance }: Policy, ms: number): GraphQLError {
  const retryAfter = Math.max(leastRetrySeconds, Math.ceil(ms / 1_000));
  const message = `${meanings[name]} (${allowance.perSecond.toLocaleString('en')}). Nothing was done: try again in ${retryAfter} s.`;
  // `spec: false` keeps Yoga from giving an invalid operation another status.
  const http = { status: 429, spec: false, headers: { 'retry-after': String(retryAfter) } };
  return new GraphQLError(message, { extensions: { code: 'RATE_LIMITED', limit: name, retryAfter, http } });
}

const reports = new Set(['exchange', 'reportOutcomes', 'releaseAssignments', 'heartbeat']);

/** By the root fields that @skip and @include leave in. */
function urgencyOf({ document, operationName, variableValues }: ExecutionArgs): Urgency {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== 'mutation') return 0;
  let urgency: Urgency = 0;
  let isHeartbeat = true;
  for (const selection of operation.selectionSet.selections) {
    if (selection.kind !== Kind.FIELD) return 0;
    if (isLeftOut(selection, variableValues)) continue;
    if (reports.has(selection.name.value)) urgency = 1;
    if (selection.name.value !== 'heartbeat') isHeartbeat = false;
  }
  return urgency === 1 && isHeartbeat ? 2 : urgency;
}

function isLeftOut(
  field: Parameters<typeof getDirectiveValues>[1],
  variables: ExecutionArgs['variableValues'],
): boolean {
  if ((field.directives?.length ?? 0) === 0) return false;
  try {
    const values = { ...variables };
    return (
      getDirectiveValues(GraphQLSkipDirective, field, values)?.if === true ||
      getDirectiveValues(GraphQLIncludeDirective, field, values)?.if === false
    );
  } catch {
    // The variables are wrong; execution reports that.
    return false;
  }
}
