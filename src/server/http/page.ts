/** Pages for browsers, whose files were bundled and compressed when the package was built. They are the same for everybody, so everybody gets them. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { asksForPage } from './origin.ts';

export interface Page {
  /** Whether the request is for the page or one of its files, all of which are public. */
  isFor(request: IncomingMessage): boolean;
  /** Answers the request if it asks for the page or one of its files, and says whether it did. */
  answers(request: IncomingMessage, response: ServerResponse): boolean;
}

/** A file whose content never changes under its name. */
export interface Asset {
  readonly type: string;
  readonly packed: Buffer;
  unpacked?: Promise<Buffer>;
}

export interface PageOptions {
  /** Where the page is; its files are below. */
  readonly path: string;
  /** The folder of its files in dist. */
  readonly folder: string;
  readonly assetName: RegExp;
  contentPolicy(): string | Promise<string>;
  readonly isShown: boolean;
  /** Whether other requests come to the same path: then the page is for those that ask for HTML. */
  readonly sharesPath?: boolean;
  pageOf(assets: ReadonlyMap<string, Asset>): string | Promise<string>;
}

const dist = join(import.meta.dirname, '../../../dist');
const assetTypes: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
};
const yearS = 31_536_000;

/** Serves a page, and files that browsers cache. All are read from disk on the first request. */
export function createPage({
  path: place,
  folder,
  assetName,
  contentPolicy,
  isShown,
  sharesPath = false,
  pageOf,
}: PageOptions): Page {
  let loaded: Promise<{ page: string; tag: string; assets: ReadonlyMap<string, Asset> }> | undefined;

  const read = async () => {
    const assets = await readAssets(join(dist, folder));
    const page = await pageOf(assets);
    return { page, tag: `"${createHash('sha256').update(page).digest('base64url')}"`, assets };
  };
  const load = () => {
    loaded ??= read();
    // After a failure the next request reads the files again.
    loaded.catch(() => {
      loaded = undefined;
    });
    return loaded;
  };

  const pathOf = ({ url }: IncomingMessage) => url?.split('?', 1)[0] ?? '';
  const assetOf = (request: IncomingMessage) => {
    const path = pathOf(request);
    const name = path.startsWith(`${place}/`) ? path.slice(place.length + 1) : '';
    return assetName.test(name) ? name : undefined;
  };

  const answerPage = async (request: IncomingMessage, response: ServerResponse) => {
    const [{ page, tag }, policy] = await Promise.all([load(), contentPolicy()]);
    response.setHeader('etag', tag).setHeader('cache-control', 'no-cache');
    if (sharesPath) response.setHeader('vary', 'accept');
    response.setHeader('content-security-policy', policy).setHeader('x-frame-options', 'DENY');
    if (request.headers['if-none-match']?.includes(tag)) return response.writeHead(304).end();
    return response.setHeader('content-type', 'text/html; charset=utf-8').end(page);
  };

  const answerAsset = async (name: string, request: IncomingMessage, response: ServerResponse) => {
    const asset = (await load()).assets.get(name);
    // The file of another release: the page that names it is out of date.
    if (asset === undefined) return response.writeHead(404, { 'cache-control': 'no-store' }).end();
    response.setHeader('cache-control', `public, max-age=${yearS}, immutable`);
    response.setHeader('vary', 'accept-encoding').setHeader('x-content-type-options', 'nosniff');
    response.setHeader('content-type', asset.type);
    const takesPacked = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    if (takesPacked) return response.setHeader('content-encoding', 'gzip').end(asset.packed);
    return response.end(await unpack(asset));
  };

  const isFor = (request: IncomingMessage) => {
    if (!isShown || request.method !== 'GET') return false;
    if (assetOf(request) !== undefined) return true;
    return pathOf(request).replace(/\/$/, '') === place && (!sharesPath || asksForPage(request.headers));
  };

  return {
    isFor,
    answers(request, response) {
      if (!isFor(request)) return false;
      const name = assetOf(request);
      const answered =
        name === undefined ? answerPage(request, response) : answerAsset(name, request, response);
      answered.catch(() => response.destroy());
      return true;
    },
  };
}

/** Once for everybody, or each request would take megabytes. */
export function unpack(asset: Asset): Promise<Buffer> {
  asset.unpacked ??= promisify(gunzip)(asset.packed);
  return asset.unpacked;
}

async function readAssets(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.gz'));
  const assets = files.map(async (file): Promise<[string, Asset]> => {
    const name = file.slice(0, -'.gz'.length).replaceAll(sep, '/');
    const type = assetTypes[name.slice(name.lastIndexOf('.') + 1)] ?? '';
    return [name, { type, packed: await readFile(join(folder, file)) }];
  });
  return new Map(await Promise.all(assets));
}
