/**
 * How many operations a second a caller may send, all callers of a tenant together, and how much these may cost, as the schema counts it. What is
 * no operation that can be executed counts as one: what can't be read, parsed or validated, uploads, exports, metrics. Each server counts for itself. Answers say how much is left, as `draft-ietf-httpapi-ratelimit-headers` has it.
 *
 * What keeps leases alive is refused last. Reports draw on the same limits, and may go on when everything else has used them up; heartbeats may
 * still when reports have. So what a caller does with its items costs it none of them.
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
import type { Storer } from '../domain/stored.ts';
import type { Services } from '../schema/services.ts';
import { costOf } from './cost-of.ts';

/** Null for no limit. */
export interface Rates {
  readonly requestsPerSecond: number | null;
  readonly costPerSecond: number | null;
}

/** Everything; reports of finished work and what goes with them; signs of life. */
type Urgency = 0 | 1 | 2;
const urgencies = [0, 1, 2] as const;

/** So many are remembered; whoever is forgotten has a full bucket again. */
const mostRemembered = 20_000;
const leastRetrySeconds = 1;

/** A token bucket for everything, one for what is more urgent, and one for what is most. */
export class Allowance {
  readonly perSecond: number;
  readonly #tokens: [number, number, number];
  #at = performance.now();

  constructor(perSecond: number) {
    this.perSecond = perSecond;
    this.#tokens = [perSecond, perSecond, perSecond];
  }

  /** For how many milliseconds so much can't be had. What is more than a second's worth can be had of a full bucket, and is paid off after. */
  waitMs(amount: number, urgency: Urgency): number {
    this.#refill();
    const missing = Math.min(amount, this.perSecond) - this.#tokens[urgency];
    return Math.max(0, (missing / this.perSecond) * 1_000);
  }

  take(amount: number, urgency: Urgency): void {
    this.#refill();
    for (const one of urgencies) if (one <= urgency) this.#tokens[one] -= amount;
  }

  /** What is left for what is not urgent. */
  get left(): number {
    this.#refill();
    return Math.max(0, Math.floor(this.#tokens[0]));
  }

  /** Until it is full. */
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

/** What an operation comes with before its context is made, over HTTP and on sockets. */
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

  /** `setHeaders` is for answers over HTTP that have not begun. */
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

  /** Why an operation is not carried out; undefined if it is, and is counted then. */
  refuse(args: ExecutionArgs): GraphQLError | undefined {
    const context = args.contextValue as unknown as Services & Initial;
    const { engine, caller } = context;
    const owner = { tenant: engine.tenant, account: engine.account, limits: caller.limits };
    return this.#refuse(owner, requestOf(context), args);
  }

  /** The same for what is no operation that can be executed. */
  refuseOther(initial: Initial): GraphQLError | undefined {
    const request = requestOf(initial);
    const owner = initial.owner ?? (request && this.#ownerOf(request));
    return owner && this.#refuse(owner, request, undefined);
  }

  /** Whether nothing but reports and heartbeats would be carried out: then what is large need not be parsed. */
  isUsedUp(initial: Initial): boolean {
    const request = requestOf(initial);
    const owner = initial.owner ?? (request && this.#ownerOf(request));
    if (owner === undefined) return false;
    return this.#policies(owner, () => 1).some(({ allowance, amount }) => allowance.waitMs(amount, 0) > 0);
  }

  /** Whether the caller, or its tenant, has a limit that bytes count for. */
  countBytes(request: IncomingMessage): boolean {
    return this.#policies(this.#ownerOf(request), () => 1).some(({ name }) => costs.has(name));
  }

  /** What has gone through in bytes is paid off after, a value's worth for each kilobyte. */
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
    const policies = this.#policies(owner, () => Math.max(1, (args && costOf(args)) ?? 1));
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

  #policies({ tenant, account, limits }: Storer, costOf: () => number): Policy[] {
    const requests = limits?.requestsPerSecond ?? this.#ofCaller.requestsPerSecond;
    const cost = limits?.costPerSecond ?? this.#ofCaller.costPerSecond;
    const ofTenant = tenant ? this.#ofTenant : noRates;
    const policies: Policy[] = [];
    if (requests !== null) policies.push(this.#policy('requests', account ?? '', requests, 1));
    if (ofTenant.requestsPerSecond !== null)
      policies.push(this.#policy('tenant-requests', tenant ?? '', ofTenant.requestsPerSecond, 1));
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
    // A key may have been made anew with another limit.
    if (allowance?.perSecond !== perSecond) {
      allowance = new Allowance(perSecond);
      this.#allowances.set(key, allowance);
    }
    return { name, allowance, amount };
  }
}

/** As answers are counted: until it is written a value takes up to a kilobyte. */
const bytesOfValue = 1_000;
const costs = new Set(['cost', 'tenant-cost']);

/** Node's own, where there is one: of Yoga's it is beside it. */
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
  // Yoga gives what is not valid another status otherwise.
  const http = { status: 429, spec: false, headers: { 'retry-after': String(retryAfter) } };
  return new GraphQLError(message, { extensions: { code: 'RATE_LIMITED', limit: name, retryAfter, http } });
}

const reports = new Set(['exchange', 'reportOutcomes', 'releaseAssignments', 'heartbeat']);

/** By the fields that its variables do not leave out. */
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
    // Its variables are wrong, which is for GraphQL to say.
    return false;
  }
}
