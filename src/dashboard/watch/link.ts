/** What a link to the page of one tree says, in its fragment. */
export interface Link {
  /** The id of the root. */
  readonly tree: string;
  readonly token: string;
}

export const toHash = (link: Link) => `#${new URLSearchParams({ ...link })}`;

export function toLink(hash: string): Link {
  const given = new URLSearchParams(hash.slice(1));
  const text = (name: keyof Link) => given.get(name) ?? '';
  return { tree: text('tree'), token: text('token') };
}

/** What a watch token says of itself. */
export interface Claims {
  readonly sees: string;
  readonly expiresMs: number;
}

/** Undefined if the token is not whole. Whether it is true, the server says. */
export function claimsOf(token: string): Claims | undefined {
  const payload = /^jobtree_watch_[\w-]+\.([\w-]+)\.[\w-]{43}$/.exec(token)?.[1];
  if (payload === undefined) return undefined;
  try {
    const { sees, exp } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
    return { sees: String(sees), expiresMs: Number(exp) * 1_000 };
  } catch {
    return undefined;
  }
}
