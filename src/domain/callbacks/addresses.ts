/**
 * Which addresses callbacks may go to: public ones, and networks that a setting names. Otherwise anyone who may name a URL could
 * reach what only the server can, such as databases and the metadata services of clouds. A name is looked up once per call, all
 * of its addresses must be allowed, and the connection uses exactly these addresses. No error says to which a name leads.
 */
import { lookup, Resolver } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';

export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
}

/** Resolves a name to its addresses. */
export type LookUp = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

export class CallbackAddresses {
  readonly #networks: readonly ReturnType<typeof ipaddr.parseCIDR>[];
  readonly #lookUp: LookUp;

  /** `networks`: networks that are allowed besides public addresses, such as `10.0.0.0/8`. */
  constructor({
    networks,
    lookUp = lookUpName,
  }: { networks: readonly string[]; lookUp?: LookUp | undefined }) {
    this.#networks = networks.map((network) => ipaddr.parseCIDR(network));
    this.#lookUp = lookUp;
  }

  /** All addresses of a URL's host. @throws ForbiddenAddressError if one of them is forbidden; errors of the look-up; the signal's reason */
  async of({ hostname }: URL, signal: AbortSignal): Promise<readonly [string, ...string[]]> {
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const [first, ...others] = ipaddr.isValid(host)
      ? [host]
      : await unlessEnded(this.#lookUp(host, signal), signal);
    if (first === undefined) throw new Error(`${host} has no address.`);
    const addresses = [first, ...others] as const;
    if (addresses.every((address) => this.#isAllowed(address))) return [...addresses];
    const what = first === host ? 'is not a public address' : 'leads to an address that is not public';
    throw new ForbiddenAddressError(`${host} ${what}; JOBTREE_CALLBACK_NETWORKS may allow it.`);
  }

  #isAllowed(text: string): boolean {
    const address = ipaddr.process(text);
    return (
      isPublic(address) ||
      this.#networks.some(
        ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
      )
    );
  }
}

/** Needed because the system's look-ups can't be cancelled. */
function unlessEnded<T>(promise: Promise<T>, ended: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    ended.addEventListener('abort', () => reject(ended.reason), { once: true });
    promise.then(resolve, reject);
  });
}

/** 2000::/3 is all of IPv6 unicast that was ever allocated: the rest leads to IPv4 addresses, or is reserved. */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || address.match(ipaddr.IPv6.parse('2000::'), 3);
}

/**
 * Asks DNS directly for names with a dot, on separate sockets. Only short names, such as `localhost` and those of the local
 * network, go to the system: its look-ups occupy threads of a small pool, and a stranger's name server could keep them waiting.
 */
async function lookUpName(hostname: string, signal: AbortSignal): Promise<string[]> {
  if (!hostname.includes('.')) return (await lookup(hostname, { all: true })).map(({ address }) => address);
  const resolver = new Resolver();
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const [failure] = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    if (found.length === 0) throw failure;
    return found;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
