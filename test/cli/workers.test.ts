/** Who is connected or holds items, on the command line. */
import { expect, it, onTestFinished } from 'vitest';
import { Worker } from '../../src/client/index.ts';
import { work } from '../support/api.ts';
import { useServer } from '../support/use-server.ts';
import { run, startOnTerminal } from './program.ts';

const server = useServer();
const list = async (...args: string[]) => (await run(['workers', ...args], { env: server.env })).stdout;

/** Connected until the test is over. */
async function connect(name: string, types: Record<string, number>, version?: string): Promise<void> {
  const handlers = Object.entries(types).map(([type, concurrency]) => [
    type,
    { concurrency, handler: () => null },
  ]);
  const worker = new Worker({ url: server.url, name, version, types: Object.fromEntries(handlers) });
  const connected = new Promise<void>((resolve) => worker.once('connected', resolve));
  await worker.start();
  onTestFinished(() => worker.stop());
  await connected;
}

async function hold(worker: string, type: string, count: number): Promise<void> {
  await server.client.createJob({ type, items: Array(count).fill({ payload: 1 }) });
  expect(await server.client.claimItems(worker, [{ type, limit: count }])).toHaveLength(count);
}

it('workers lists what each handles and holds, when it was last seen, and its version', async () => {
  await connect('a', { mail: 8, fax: 4 }, '1.4.0');
  await hold('b', 'letter', 3);
  expect((await list()).split('\n')).toEqual([
    expect.stringMatching(/^NAME +TYPES +ITEMS +SEEN +CONNECTED +VERSION$/),
    expect.stringMatching(/^a +fax, mail +0\/12 +\d+s +\d+s +1\.4\.0$/),
    expect.stringMatching(/^b +letter +3 +\d+s +- +-$/),
    '',
  ]);
  expect((await list('--type', 'letter')).split('\n')).toHaveLength(3);
  expect(await list('--type', 'letter')).toMatch(/^b /m);
  expect((await list('--limit', '1')).split('\n')).toHaveLength(3);
  const onTerminal = startOnTerminal(['workers', '--type', 'none'], server.env);
  expect((await onTerminal.ended).stdout).toBe('No connected worker does these types.\r\n');
  const [first = ''] = (await list('--json')).split('\n');
  expect(JSON.parse(first)).toMatchObject({ name: 'a', version: '1.4.0', types: [{ type: 'fax' }, {}] });
});

it('held lists the items that workers hold, by type and worker', async () => {
  await hold('h1', 'kept', 2);
  await hold('h2', 'other', 1);
  const held = async (...args: string[]) => (await run(['held', ...args], { env: server.env })).stdout;
  expect((await held('--type', 'kept')).split('\n')).toEqual([
    expect.stringMatching(/^ITEM +TYPE +WORKER +ATTEMPT +HELD +HEARD$/),
    ...Array(2).fill(expect.stringMatching(/^JobItem:\S+ +kept +h1 +1 +\d+s +\d+s$/)),
    '',
  ]);
  const [line = ''] = (await held('--worker', 'h2', '--json')).split('\n');
  expect(JSON.parse(line)).toMatchObject({ type: 'other', worker: 'h2', slow: false });
  expect(await held('--slow')).toMatch(/^ITEM .*\n$/);
  const onTerminal = startOnTerminal(['held', '--slow'], { ...server.env, NO_COLOR: '1' });
  expect((await onTerminal.ended).stdout).toBe('No worker holds such items.\r\n');
});

it('held marks what has taken far longer than usual', async () => {
  await server.client.createJob({ type: 'brief', items: Array(25).fill({}) });
  await work(server.url, 'brief', 25);
  const figures = async () => (await server.client.queues.figures()).find(({ type }) => type === 'brief');
  await expect.poll(async () => (await figures())?.figures.succeeded).toBe(25);
  await hold('h3', 'brief', 1);
  await server.db.query(`update jobtree.lease set claimed_at = now() - interval '1 min' where worker = 'h3'`);
  const held = async () => (await run(['held', '--worker', 'h3'], { env: server.env })).stdout;
  await expect.poll(held, { timeout: 20_000 }).toMatch(/ 1m! +\d+s$/m);
});

it('names and versions are escaped on a terminal', async () => {
  const hostile = '\u001b]0;x\u0007\u001b[2J';
  await connect(hostile, { [hostile]: 1 }, hostile);
  const { stdout } = await startOnTerminal(['workers'], { ...server.env, NO_COLOR: '1' }, 200).ended;
  expect(stdout).toContain(String.raw`\u001b]0;x\u0007\u001b[2J`);
  for (const forbidden of ['\u001b', '\u0007']) expect(stdout).not.toContain(forbidden);
});
