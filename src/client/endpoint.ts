/** The address of the API. */
import { JobtreeError } from './errors.ts';

/**
 * Returns the given address, else that of the environment, else the local one. In a page it may be relative to the page.
 *
 * @throws JobtreeError INVALID_INPUT
 */
export function endpoint(given: string | undefined): string {
  const url = given ?? globalThis.process?.env?.JOBTREE_URL ?? 'http://127.0.0.1:4000/graphql';
  const { location } = globalThis as { location?: { href: string } };
  const absolute = URL.canParse(url, location?.href) ? new URL(url, location?.href).href : url;
  const isUrl = /^https?:\/\//.test(absolute) && URL.canParse(absolute);
  const { username = '', password = '' } = isUrl ? new URL(absolute) : {};
  // The address appears in errors and logs, where a password has no place. Browsers refuse such addresses, too.
  if (username !== '' || password !== '' || (!isUrl && absolute.includes('@')))
    throw new JobtreeError('INVALID_INPUT', 'url must have no user or password: give a token, or headers.', {
      field: 'url',
    });
  if (isUrl) return absolute;
  throw new JobtreeError('INVALID_INPUT', `url must be an http or https address: ${url}`, { field: 'url' });
}

/** What to say when no jobtree answers there. The API is at /graphql, unless a proxy says otherwise. */
export function hintFor(url: string): string {
  return /\/graphql([?#]|$)/.test(url)
    ? ' Is it the address of a jobtree server?'
    : ' The API of a server is usually at /graphql: does the URL lack it?';
}
