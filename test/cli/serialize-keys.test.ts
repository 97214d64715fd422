/** `jobtree keys`, and serialize keys of an import. */
import { expect, it } from 'vitest';
import { useServer } from '../support/use-server.ts';
import { makeFile } from './folder.ts';
import { run } from './program.ts';

const server = useServer();
const env = () => ({ env: server.env });

it('keys lists the longest lines, and who holds each key', async () => {
  const items = ['long', 'long', 'long', 'short', 'short', 'alone', 'failed', 'failed'];
  const { id } = await server.client.createJob({
    type: 'lines',
    serializeOnFailure: 'BLOCK',
    items: items.map((serializeKey) => ({ payload: serializeKey, serializeKey })),
  });
  const assignments = await server.client.claimItems('worker-1', [{ type: 'lines', limit: 10 }]);
  const of = (key: string) => assignments.find(({ payload }) => payload === key);
  await server.client.reportOutcomes([
    { assignmentId: of('failed')?.id ?? '', failure: { code: 'E', message: 'no', permanent: true } },
  ]);
  await server.client.releaseAssignments([of('short')?.id ?? '']);
  const { nodes } = await server.client.items(id);
  const head = (key: string) => nodes.find(({ payload }) => payload === key)?.id;
  expect(await run(['keys'], env())).toEqual({
    code: 0,
    stdout: [
      'KEY     BLOCKED  STATE              TYPE   HEAD',
      `long          2  at worker-1        lines  ${head('long')}`,
      `failed        1  held by a failure  lines  ${head('failed')}`,
      `short         1  next               lines  ${head('short')}`,
      '',
    ].join('\n'),
    stderr: '',
  });
  const longest = await run(['keys', '--limit', '1', '--json'], env());
  expect(JSON.parse(longest.stdout)).toMatchObject({ key: 'long', blocked: 2, held: false });
  const named = await run(['keys', 'alone', 'unused'], env());
  expect(named.stdout.split('\n')).toEqual([
    'KEY    BLOCKED  STATE        TYPE   HEAD',
    `alone        0  at worker-1  lines  ${head('alone')}`,
    '',
  ]);
  expect(await run(['keys', ''], env())).toMatchObject({ code: 2, stdout: '' });
});

it('an import takes serialize keys from a field of its rows', async () => {
  const file = await makeFile(
    'changes.ndjson',
    '{"customer":7}\n{"customer":"7"}\n{"customer":null}\n{}\n"text"',
  );
  const options = ['--serialize-key', 'customer', '--block-on-failure'];
  const { code, stdout } = await run(['import', file, '--type', 'changes', ...options], env());
  expect(code).toBe(0);
  const { nodes } = await server.client.items(stdout.trim());
  expect(nodes.map(({ serializeKey }) => serializeKey)).toEqual(['7', '7', null, null, null]);
  expect(nodes[1]?.blockedBy).toEqual({ id: nodes[0]?.id });
  expect(await server.client.job(stdout.trim())).toMatchObject({ serializeOnFailure: 'BLOCK' });

  const bad = await makeFile('bad.ndjson', '{"customer":{}}');
  const refused = await run(['import', bad, '--type', 'changes', ...options], env());
  expect(refused).toMatchObject({ code: 6, stdout: '' });
  expect(refused.stderr).toContain(
    "line 1: customer is neither text nor a number, so it can't be a serialize key.",
  );
});
