/** What a link to the page of one tree says, in its fragment. */
export interface Link {
  /** The id of the root. */
  readonly tree: string;
  readonly token: string;
  /** What the token shows, as in the API. */
  readonly shows: string;
}

export const toHash = (link: Link) => `#${new URLSearchParams({ ...link })}`;

export function toLink(hash: string): Link {
  const given = new URLSearchParams(hash.slice(1));
  const text = (name: keyof Link) => given.get(name) ?? '';
  return { tree: text('tree'), token: text('token'), shows: text('shows') };
}
