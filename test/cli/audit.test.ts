import { beforeAll, expect, it } from 'vitest';
import { bearer, makeKey } from '../support/keys.ts';
import { useServer } from '../support/use-server.ts';
import { run } from './program.ts';

const { db, app } = useServer({ JOBTREE_AUTH: 'keys' });
let key: string;
beforeAll(async () => {
  ({ key } = await makeKey(db, ['admin']));
  for (const type of ['a', 'b', 'c'])
    await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(key) },
      body: JSON.stringify({
        query: `mutation { setQueue(input: { type: "${type}", paused: true }) { __typename } }`,
      }),
    });
});

const audit = (...args: string[]) =>
  run(['audit', ...args], { env: { JOBTREE_URL: app.url, JOBTREE_TOKEN: key } });

it('the audit is a table, or one JSON object per line', async () => {
  const { code, stdout } = await audit('--limit', '2');
  expect(code).toBe(0);
  expect(stdout.split('\n')).toMatchObject([
    expect.stringMatching(/^AT +OUTCOME +ACTION +ACTOR +ADDRESS +SUBJECTS$/),
    expect.stringMatching(/Z +OK +setQueue +key admin \(\S+\) +127\.0\.0\.1 +type c, paused true$/),
    expect.stringContaining('type b'),
    '',
  ]);
  const lines = (await audit('--json', '--subject', 'type a', '--since', '1h')).stdout.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ subjects: ['type a', 'paused true'] }]);
  expect((await audit('--json', '--actor', 'nobody')).stdout).toBe('');
});
