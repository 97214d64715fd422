/** The dashboard, at /dashboard/: what it shows comes over the API, with the rights of whoever has signed in. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { asksForPage } from './origin.ts';
import { createPage, type Page, unpack } from './page.ts';

const place = '/dashboard';

/** Its files, its API and its socket are here; it has no inline code, and no other page may frame it (clickjacking). */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The dashboard, and the page of one tree for whoever has a watch token of it. */
export function createDashboard({ isShown }: { isShown: boolean }): readonly Page[] {
  return [pageAt(place, 'dashboard', isShown), pageAt(`${place}/watch`, 'watch', isShown)];
}

function pageAt(path: string, folder: string, isShown: boolean): Page {
  const page = createPage({
    path,
    folder,
    assetName: /^assets\/[\w.-]+\.(js|css)$/,
    contentPolicy,
    isShown,
    pageOf: async (assets) => {
      const html = assets.get('index.html');
      if (html === undefined) throw new Error(`dist/${folder} has no index.html: npm run build makes it.`);
      return String(await unpack(html));
    },
  });
  /** Without the slash, from which the page finds everything else. */
  const isBeside = ({ method, url, headers }: IncomingMessage) =>
    isShown && method === 'GET' && url === path && asksForPage(headers);
  return {
    isFor: (request) => isBeside(request) || page.isFor(request),
    answers(request: IncomingMessage, response: ServerResponse) {
      if (!isBeside(request)) return page.answers(request, response);
      // Relative, since a proxy may have put a prefix before it.
      const location = `${path.slice(path.lastIndexOf('/') + 1)}/`;
      response.writeHead(302, { location, vary: 'accept', 'cache-control': 'no-cache' }).end();
      return true;
    },
  };
}
