/** `jobtree watch-token`, and the same of the client. */
import { expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { startWithKeys, unknownJob, useServer } from '../support/use-server.ts';
import { run } from './program.ts';

const server = useServer();
const env = () => ({ env: server.env });

/** What a token says, which whoever has it can read. */
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

it('watch-token prints a token with the validity and view that its options name', async () => {
  const { id } = await server.client.createJob({ type: 'watched' });
  const made = await run(['watch-token', id], env());
  expect(made).toMatchObject({ code: 0, stderr: '' });
  const short = claimsOf(made.stdout);
  expect(short).toMatchObject({ sub: id.slice(4), sees: 'PROGRESS' });
  expect(short.exp - short.iat).toBeCloseTo(900, 3);
  const long = await run(['watch-token', id, '--sees', 'items', '--expires', '1h', '--json'], env());
  const { jobId, token, expiresAt } = JSON.parse(long.stdout);
  expect(jobId).toBe(id);
  expect(claimsOf(token)).toMatchObject({ sees: 'ITEMS', exp: Date.parse(expiresAt) / 1_000 });
});

it('a command with a watch token says what such tokens are for', async () => {
  const { client, url } = await startWithKeys();
  const { id } = await client.createJob({ type: 'watched' });
  const { token } = await client.createWatchToken(id);
  const refused = await run(['items', id], { env: { JOBTREE_URL: url, JOBTREE_TOKEN: token } });
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/which is for web pages: commands need an API key\.\n$/),
  });
});

it('watch-token --revoke confirms the revocation', async () => {
  const { id } = await server.client.createJob({ type: 'watched' });
  expect(await run(['watch-token', id, '--revoke'], env())).toMatchObject({ code: 0, stdout: 'Revoked.\n' });
});

it.each([
  [unknownJob, [], 4, 'no job'],
  [unknownJob, ['--revoke'], 4, 'no job'],
  [undefined, ['--expires', '2d'], 2, '--expires is "2d": give a time from 10s to 1d.'],
  [undefined, ['--expires', 'never'], 2, 'give seconds'],
  [undefined, ['--sees', 'all'], 2, 'progress'],
])('watch-token refuses %s %j', async (given, options, code, message) => {
  const id = given ?? (await server.client.createJob({ type: 'refused' })).id;
  const ended = await run(['watch-token', id, ...options], env());
  expect([ended.code, ended.stdout]).toEqual([code, '']);
  expect(ended.stderr).toContain(message);
});

it('a client creates and revokes tokens', async () => {
  const client = createClient({ url: server.env.JOBTREE_URL });
  const { id } = await client.createJob({ type: 'watched' });
  const { token, expiresAt } = await client.createWatchToken(id, { sees: 'RESULTS', expiresInSeconds: 60 });
  expect(claimsOf(token)).toMatchObject({ sees: 'RESULTS' });
  const { revokedAt } = await client.revokeWatchTokens(id);
  expect(Date.parse(revokedAt)).toBeLessThan(Date.parse(expiresAt));
  await client.close();
});
