/**
 * Refuses requests that were not meant for this server, or that come from a web page that may not use it. Any page that somebody visits can make
 * their browser send requests to 127.0.0.1, so
 *
 * - the Host must be one of ours: any name can be made to point to 127.0.0.1, and a page under that name then counts as our own. An address
 *   can't be redirected like that;
 * - an Origin must be that of our own page, or an allowed one;
 * - a request without an Origin that the browser marks as cross-site (a link, an image, a frame) runs nothing;
 * - a request without an Origin that a form could send runs nothing.
 *
 * Programs send neither Origin nor Sec-Fetch-Site, so none of this affects them.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

export interface Refusal {
  readonly status: number;
  readonly text: string;
}

export interface Guard {
  /** Why the request is not for this server; undefined if it is. */
  refusalOf(request: IncomingMessage): Refusal | undefined;
  /** Whether it comes from a page that may use the API, and so may read why a request of it is refused. */
  isOfAllowedPage(request: IncomingMessage): boolean;
}

/** Browsers send a preflight before a page of another origin may send these. */
const bodyTypes = new Set([
  'application/json',
  'application/graphql+json',
  'application/graphql-response+json',
  'application/graphql',
]);
/** Types that forms, and pages of another origin, send without a preflight. */
const formTypes = new Set(['', 'application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']);

/** A multipart request needs one of these, as with Apollo Server; some Apollo clients always send the second one. */
const preflightHeaders = ['apollo-require-preflight', 'x-apollo-operation-name'];

export function createGuard(options: {
  allowedOrigins: readonly string[];
  allowedHosts: readonly string[];
  ownHost: string;
}): Guard {
  const { allowedOrigins, allowedHosts, ownHost } = options;
  const anyOrigin = allowedOrigins.includes('*');
  const hosts = new Set(['localhost', ownHost, ...allowedHosts].map((host) => host.toLowerCase()));

  const isOurs = ({ hostname }: URL) =>
    hosts.has('*') || hosts.has(hostname) || hostname.endsWith('.localhost') || isAddress(hostname);

  const mayUse = (origin: string, host: string | undefined) =>
    anyOrigin || allowedOrigins.includes(origin) || (URL.canParse(origin) && new URL(origin).host === host);

  const isOfAllowedPage = ({ headers: { origin, host } }: IncomingMessage) =>
    origin !== undefined && mayUse(origin, host);

  const refusalOf = (request: IncomingMessage): Refusal | undefined => {
    const { url = '', headers } = request;
    const { host, origin } = headers;
    if (!url.startsWith('/') || !URL.canParse(`http://localhost${url}`))
      return refusal(400, 'The request target must be a path.');
    // HTTP/1.0 allows it to be missing, but no browser speaks that.
    if (host !== undefined) {
      const ours = `http://${host}`;
      if (!URL.canParse(ours)) return refusal(400, 'The Host header is not a valid host.');
      if (!isOurs(new URL(ours)))
        return refusal(403, 'This host name is not served; name it in JOBTREE_ALLOWED_HOSTS.');
    }
    if (origin !== undefined) {
      if (!isOfAllowedPage(request)) return refusal(403, 'Pages of this origin may not use the API.');
    } else if (!anyOrigin && isFromElsewhere(request)) {
      return refusal(403, 'Pages of other sites may not use the API.');
    }
    if (request.method !== 'POST') return undefined;
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      return refusal(415, 'Bodies must have no Content-Encoding.');
    const [type = ''] = (headers['content-type'] ?? '').split(/[;,]/, 1);
    if (url.startsWith('/api/')) {
      if (
        origin === undefined &&
        headers['tus-resumable'] === undefined &&
        formTypes.has(type.trim().toLowerCase())
      )
        return refusal(
          415,
          'Uploads must have a Content-Type that HTML forms do not send, such as application/octet-stream.',
        );
      return undefined;
    }
    // Enough for browsers, too: a page of another origin needs a preflight for such a header, and a form can't send one.
    if (type.trim().toLowerCase() === 'multipart/form-data') {
      if (preflightHeaders.some((name) => headers[name])) return undefined;
      return refusal(415, 'Multipart requests must have the header Apollo-Require-Preflight: true.');
    }
    if (origin === undefined && !bodyTypes.has(type.trim().toLowerCase()))
      return refusal(415, 'Bodies must have the Content-Type application/json.');
    const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '') ?? [];
    if (charset.toLowerCase() !== 'utf-8')
      return refusal(415, 'Bodies must be UTF-8: send the Content-Type application/json.');
    return undefined;
  };

  return { refusalOf, isOfAllowedPage };
}

/** Whether a page of another site or origin caused the request. Following a link to GraphiQL is fine: that only shows the page. */
function isFromElsewhere({ method, headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site === 'none' || site === 'same-origin') return false;
  const followsLink =
    headers['sec-fetch-mode'] === 'navigate' && (headers['sec-fetch-dest'] ?? 'document') === 'document';
  return !(method === 'GET' && followsLink && asksForPage(headers));
}

/** Whether the request wants GraphiQL's page, if there is one. */
export function asksForPage({ accept }: IncomingMessage['headers']): boolean {
  return accept?.includes('text/html') === true;
}

function isAddress(hostname: string): boolean {
  return isIP(hostname.startsWith('[') ? hostname.slice(1, -1) : hostname) !== 0;
}

function refusal(status: number, text: string): Refusal {
  return { status, text };
}
