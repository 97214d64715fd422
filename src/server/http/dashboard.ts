/** The dashboard, at /dashboard/: what it shows comes over the API, with the rights of whoever has signed in. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../../config/config.ts';
import { createIssuerOrigins } from '../rights/issuer-origins.ts';
import { createPage, type Page, unpack } from './page.ts';

const place = '/dashboard';

/**
 * Its files, its API and its socket are here, and only where people sign in is elsewhere; it has no inline code, and no other page may frame it
 * (clickjacking).
 */
const contentPolicy = (signInOrigins: readonly string[]) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${["'self'", ...signInOrigins].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** The dashboard, and the page of one tree for whoever has a watch token of it. */
export function createDashboard({
  dashboard: isShown,
  auth,
  openId,
}: Pick<Config, 'dashboard' | 'auth' | 'openId'>): readonly Page[] {
  // Whoever opens the page has not signed in, and so can't ask the API.
  const signIn = `<meta name="sign-in" content="${escapeHtml(JSON.stringify({ ways: auth, openId }))}">\n`;
  const originsOf = openId === undefined ? () => [] : createIssuerOrigins(openId.issuer);
  return [
    pageAt({
      path: place,
      folder: 'dashboard',
      isShown,
      contentPolicy: async () => contentPolicy(await originsOf()),
      head: signIn,
    }),
    pageAt({
      path: `${place}/watch`,
      folder: 'watch',
      isShown,
      contentPolicy: () => contentPolicy([]),
      head: '',
    }),
  ];
}

function pageAt({
  path,
  folder,
  isShown,
  contentPolicy,
  head,
}: {
  path: string;
  folder: string;
  isShown: boolean;
  contentPolicy: () => string | Promise<string>;
  head: string;
}): Page {
  const page = createPage({
    path,
    folder,
    assetName: /^assets\/[\w.-]+\.(js|css)$/,
    contentPolicy,
    isShown,
    pageOf: async (assets) => {
      const html = assets.get('index.html');
      if (html === undefined) throw new Error(`dist/${folder} has no index.html: npm run build makes it.`);
      return String(await unpack(html)).replace('</head>', () => `${head}</head>`);
    },
  });
  /** Without the slash, from which the page finds everything else. */
  const isBeside = ({ method, url }: IncomingMessage) => isShown && method === 'GET' && url === path;
  return {
    isFor: (request) => isBeside(request) || page.isFor(request),
    answers(request: IncomingMessage, response: ServerResponse) {
      if (!isBeside(request)) return page.answers(request, response);
      // Relative, since a proxy may have put a prefix before it.
      const location = `${path.slice(path.lastIndexOf('/') + 1)}/`;
      response.writeHead(302, { location, 'cache-control': 'no-cache' }).end();
      return true;
    },
  };
}

const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
