/** `jobtree why`, and what `jobtree items` says of an item that stands still. */
import { expect, it } from 'vitest';
import { useServer } from '../support/use-server.ts';
import { run } from './program.ts';

const server = useServer();
const env = () => ({ env: server.env });

it('why says what keeps a tree, an item or a type from running, and nothing of what runs or is not known', async () => {
  const { client } = server;
  await client.queues.pause('mail');
  const { id } = await client.createJob({
    type: 'mail',
    items: [{ serializeKey: 'ann' }, { serializeKey: 'ann' }, {}],
  });
  const { nodes } = await client.items(id);
  const [head, behind] = nodes;
  expect(await run(['why', id], env())).toEqual({
    code: 0,
    stdout: [
      'mail, 2 items: The type mail is paused.',
      'mail, 2 items: No worker of the type mail is connected.',
      `mail, 1 item: It waits for the serialize key "ann", which ${head?.id} has: that is ready.`,
      '',
    ].join('\n'),
    stderr: '',
  });
  expect((await run(['why', 'mail'], env())).stdout).toMatch(/^mail, 2 items: The type mail is paused\.$/m);
  expect((await run(['why', behind?.id ?? ''], env())).stdout).toBe(
    `It waits for the serialize key "ann", which ${head?.id} has: that is ready.\n`,
  );
  expect((await run(['items', head?.id ?? ''], env())).stdout).toMatch(/^why +The type mail is paused\.$/m);
  const [line = ''] = (await run(['why', id, '--json'], env())).stdout.split('\n');
  expect(JSON.parse(line)).toMatchObject({ reason: 'PAUSED', type: 'mail', itemCount: 2, hasMore: false });

  await client.queues.resume('mail');
  expect(await client.claimItems('w', [{ type: 'mail', limit: 2 }])).toHaveLength(2);
  expect((await run(['why', head?.id ?? ''], env())).stdout).toBe('Nothing keeps it from running.\n');
  expect(await run(['why', 'mial'], env())).toEqual({
    code: 4,
    stdout: '',
    stderr: 'jobtree: No job and no worker of the type mial is known. Is it spelled right?\n',
  });
  expect(await run(['why', 'Job:00000000-0000-7000-8000-000000000000'], env())).toMatchObject({ code: 4 });
});
