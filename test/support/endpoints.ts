/** Endpoints of callbacks that nobody checks, such as ones that no server would accept. */

export const secret = `whsec_${'a'.repeat(32)}`;

export const addEndpoint = (
  db: { query(text: string, values: unknown[]): Promise<unknown> },
  name: string,
  url = 'https://example.com/',
): Promise<unknown> =>
  db.query(
    'insert into jobtree.callback_endpoint (name, url, secret, created_at) values ($1, $2, $3, now()) on conflict do nothing',
    [name, url, secret],
  );
