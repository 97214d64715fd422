/** What all commands that talk to a server have in common. */
import { Option } from 'commander';
import { type Client, type ClientOptions, createClient } from '../client/index.ts';
import { exactly } from './exact-json.ts';

export interface ApiOptions {
  readonly url: string;
  readonly json?: true;
}

export function urlOption(): Option {
  return new Option('--url <url>', 'the API of the server')
    .env('JOBTREE_URL')
    .default('http://127.0.0.1:4000/graphql');
}

export function jsonOption(what: string): Option {
  return new Option('--json', `print ${what}, for programs`);
}

/** For as long as it takes. */
export async function withClient<T>(
  { url, retryMs = 2_000, onRetry }: { url: string } & Pick<ClientOptions, 'retryMs' | 'onRetry'>,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = createClient({ url, retryMs, onRetry, ...exactly });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
