/** Numbers that JavaScript would round, through each command that reads or shows payloads and results. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useServer } from '../support/use-server.ts';
import { makeFile, makeFolder } from './folder.ts';
import { run } from './program.ts';

const server = useServer();
const number = '9007199254740993';
const decimal = '12345678901234567890.10';
const payload = `{"id":${number},"sum":${decimal}}`;

const jobtree = async (...args: string[]) => {
  const ended = await run(args, { env: server.env });
  expect(ended, args.join(' ')).toMatchObject({ code: 0 });
  return ended.stdout;
};
/** As the server has them, not as JavaScript reads them. */
async function payloadsOf(jobId: string): Promise<string> {
  const query = `{ job(id: "${jobId}") { items { nodes { payload } } } }`;
  const answer = await fetch(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  return answer.text();
}

it.each([
  ['ndjson', `${payload}\n`],
  ['json', `{"type":"kept","items":[{"payload":${payload}}]}`],
  [
    'yaml',
    `type: kept\nitems:\n  - payload:\n      id: ${number}\n      sum: ${decimal}\n  - payload: no ${number}\n`,
  ],
])('a file .%s', async (extension, text) => {
  const file = await makeFile(`kept.${extension}`, text);
  const command = extension === 'ndjson' ? ['import', file, '--type', 'kept'] : ['create', file];
  const id = (await jobtree(...command)).trim();
  expect(await payloadsOf(id)).toContain(`"payload":${payload}`);
});

it('a schedule', async () => {
  const shown = await jobtree(
    'schedule',
    'put',
    's',
    '--cron',
    '0 0 1 1 *',
    '--type',
    'kept',
    '--payload',
    payload,
    '--json',
  );
  expect(shown).toContain(payload);
  expect(await jobtree('schedule', 'show', 's')).toContain(payload);
});

it('a worker that runs a command, and whoever looks at the item', async () => {
  const file = await makeFile(
    'work.json',
    `{"type":"worked","sealed":true,"items":[{"payload":${payload}}]}`,
  );
  const id = (await jobtree('create', file)).trim();
  const got = join(await makeFolder(), 'got');
  await jobtree('work', 'worked', '--stop-when-idle', '0.1s', '--', 'tee', got);
  expect((await run(['items', id], { env: server.env })).stdout).toContain(payload);
  const [{ id: itemId } = { id: '' }] = (await server.client.items(id)).nodes;
  const item = await jobtree('items', itemId);
  expect(item.split(payload)).toHaveLength(3);
  expect(await jobtree('items', id, '--json')).toContain(payload);
  expect(await jobtree('results', id)).toContain(`"result":${payload}`);
});

it('a payload that is changed, and one that a failure is replayed with', async () => {
  const { id } = await server.client.createJob({ type: 'changed', items: [{ payload: 1 }] });
  const [{ id: itemId } = { id: '' }] = (await server.client.items(id)).nodes;
  await jobtree('update-item', itemId, '--payload', payload);
  expect(await payloadsOf(id)).toContain(`"payload":${payload}`);
  const failed = await server.client.createJob({
    type: 'failing',

    items: [{ payload: 1 }],
  });
  await run(['work', 'failing', '--stop-when-idle', '0.1s', '--', 'sh', '-c', 'exit 100'], {
    env: server.env,
  });
  const [{ id: failedId } = { id: '' }] = (await server.client.items(failed.id)).nodes;
  expect(await jobtree('replay', '--item', failedId, '--payload', payload)).toContain('1 item');
  expect(await payloadsOf(failed.id)).toContain(`"payload":${payload}`);
});
