/** Identifies a client for per-client limits: by the address that it connects from, or the one that a trusted proxy reports. */
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';

export type AddressOf = (request: IncomingMessage) => string;

/** Addresses that one client can choose from count as one: see `toClient`. */
export function createAddressOf(trustedProxies: number): AddressOf {
  const peerOf = createPeerOf(trustedProxies);
  return (request) => toClient(peerOf(request));
}

/** Each proxy appends the peer it heard to X-Forwarded-For; anybody may have written the entries before that. */
export function createPeerOf(trustedProxies: number): AddressOf {
  return ({ headers, socket }) => {
    const own = socket.remoteAddress ?? '';
    if (trustedProxies === 0) return own;
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    return forwarded.at(-trustedProxies)?.trim() || own;
  };
}

/** An IPv6 client has a whole /64 to choose addresses from, so the /64 is the client. */
export function toClient(address: string): string {
  const [, bracketed] = /^\[(.+)\](?::\d+)?$/.exec(address) ?? [];
  const plain = bracketed ?? address;
  if (!isIPv6(plain)) return /^[\d.]+:\d+$/.test(plain) ? (plain.split(':')[0] as string) : plain;
  // The URL parser normalizes the address: it shortens only the longest run of zeros.
  const [host = ''] = plain.split('%');
  const short = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [head = '', tail] = short.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  // An IPv4 address mapped into IPv6.
  if (short.startsWith('::ffff:') && groups.length === 8) {
    const [high, low] = [groups[6], groups[7]].map((group) => Number.parseInt(group as string, 16));
    return [high, low].flatMap((number = 0) => [number >> 8, number & 255]).join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
