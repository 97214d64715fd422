/**
 * Where callbacks may go: to public addresses, and to networks that a setting names. Anyone who may name a URL could otherwise reach what
 * only the server can: databases, the metadata of clouds. A name is looked up once, all that it leads to must be allowed, and
 * the connection goes to just these addresses.
 */
import { lookup, Resolver } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';

export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
}

/** The addresses of a name. */
export type LookUp = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

export class CallbackAddresses {
  readonly #networks: readonly ReturnType<typeof ipaddr.parseCIDR>[];
  readonly #lookUp: LookUp;

  /** `networks`: what is allowed beside public addresses, `10.0.0.0/8`. */
  constructor({
    networks,
    lookUp = lookUpName,
  }: { networks: readonly string[]; lookUp?: LookUp | undefined }) {
    this.#networks = networks.map((network) => ipaddr.parseCIDR(network));
    this.#lookUp = lookUp;
  }

  /** All addresses of the host of a URL. @throws ForbiddenAddressError if one is forbidden; what the look-up throws; the signal's reason */
  async of({ hostname }: URL, signal: AbortSignal): Promise<readonly [string, ...string[]]> {
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const [first, ...others] = ipaddr.isValid(host)
      ? [host]
      : await unlessEnded(this.#lookUp(host, signal), signal);
    if (first === undefined) throw new Error(`${host} has no address.`);
    const forbidden = [first, ...others].find((address) => !this.#isAllowed(address));
    if (forbidden === undefined) return [first, ...others];
    const which = forbidden === host ? host : `${host} leads to ${forbidden}, which`;
    throw new ForbiddenAddressError(`${which} is no public address; JOBTREE_CALLBACK_NETWORKS may allow it.`);
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

/** The system's look-ups can't be broken off. */
function unlessEnded<T>(promise: Promise<T>, ended: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    ended.addEventListener('abort', () => reject(ended.reason), { once: true });
    promise.then(resolve, reject);
  });
}

/** Unicast of IPv6 is what was ever given out: the rest leads to IPv4 addresses, or is for times to come. */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || address.match(ipaddr.IPv6.parse('2000::'), 3);
}

/**
 * Asks DNS for whole names, on sockets of its own. The system is asked for short ones alone, `localhost` and those of the own network: its
 * look-ups take threads of which there are few, and a stranger's name server may keep one waiting.
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
