/** What the dashboard may ask, according to the metadata of the issuer at which people sign in. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createIssuerOrigins } from '../../src/server/rights/issuer-origins.ts';

async function originsFor(endpoint: string) {
  const server = createServer((_, response) =>
    response.end(JSON.stringify({ token_endpoint: endpoint, revocation_endpoint: endpoint })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const origins = await createIssuerOrigins(issuer)();
  expect(origins[0]).toBe(issuer);
  return origins.slice(1);
}

it.each(['https://tokens.example', 'https://[2001:db8::1]:8443'])('%s of an endpoint', async (origin) => {
  expect(await originsFor(`${origin}/token`)).toEqual([origin]);
});

it.each([
  'https://*/token',
  'https://a.example;report-uri/token',
  "https://a.example,'unsafe-inline'/token",
  'data:text/plain,x',
  'https://',
])('only the issuer itself for the endpoint %s, which would widen the policy', async (endpoint) => {
  expect(await originsFor(endpoint)).toEqual([]);
});
