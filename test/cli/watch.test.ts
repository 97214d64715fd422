import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { PermanentError, Worker } from '../../src/client/index.ts';
import { signal } from '../client/signals.ts';
import { makeKey } from '../support/keys.ts';
import { startProxy } from '../support/proxy.ts';
import { freePort } from '../support/server.ts';
import { startWithKeys, unknownJob, useServer } from '../support/use-server.ts';
import { run, start, startOnTerminal, startShell } from './program.ts';

const server = useServer();

/** Works on a type until the test lets go of it. */
async function withWorker(
  type: string,
  handler: (payload: any) => unknown,
  use: () => Promise<void>,
): Promise<void> {
  const worker = new Worker({ url: server.url, types: { [type]: { concurrency: 1, handler } } });
  await worker.start();
  try {
    await use();
  } finally {
    await worker.stop();
  }
}

it('each change of a job that waits, runs and completes is a line', async () => {
  const { id } = await server.client.createJob({ type: 'plain', items: [{}, {}], sealed: true });
  const program = start(['watch', id], server.env);
  await program.printed('Waiting for job to start…\n');
  const goOn = signal();
  let handled = 0;
  await withWorker(
    'plain',
    async () => {
      if (handled++ > 0) await goOn.promise;
      return null;
    },
    async () => {
      await program.printed('Job running, 50% complete…\n');
      goOn.fire();
      const { code, stdout, stderr } = await program.ended;
      expect(code).toBe(0);
      // On a slow machine it is also told that nobody works on it yet.
      expect(stderr.replace(/^No worker is connected.*\n/m, '')).toMatch(
        /^Waiting for job to start…\n(?:Job running, 0% complete…\n)?Job running, 50% complete…\nJob complete\n$/,
      );
      expect(stdout).toMatch(/^2 items: 2 succeeded in \d/);
    },
  );
});

it('a job whose type has no worker says so once', async () => {
  const { id } = await server.client.createJob({ type: 'unworked', items: [{}], sealed: true });
  const said = 'No worker is connected for unworked. To start one: `jobtree work unworked -- COMMAND`\n';
  const program = start(['watch', id], server.env);
  await program.printed(said);
  await withWorker(
    'unworked',
    () => null,
    async () => {
      const { code, stderr } = await program.ended;
      expect({ code, times: stderr.split(said).length - 1 }).toEqual({ code: 0, times: 1 });
    },
  );
});

it('a job whose type is paused: that is said once, until it is resumed', async () => {
  const { client } = server;
  await client.queues.pause('resting');
  const { id } = await client.createJob({ type: 'resting', items: [{}], sealed: true });
  const said = 'resting is paused. To resume it: `jobtree queue resting --resume`\n';
  const program = start(['watch', id], server.env);
  await program.printed(said);
  await withWorker(
    'resting',
    () => null,
    async () => {
      await client.queues.resume('resting');
      const { code, stderr } = await program.ended;
      expect({ code, times: stderr.split(said).length - 1 }).toEqual({ code: 0, times: 1 });
    },
  );
});

it('on a terminal a message appears above the bars, which stay', async () => {
  const job = { type: 'alone', items: [{}], sealed: true, children: [{ type: 'fed', feed: {} }] };
  const { id } = await server.client.createJob(job);
  const program = startOnTerminal(['watch', id, '--tree'], { ...server.env, NO_COLOR: '1' }, 60);
  await program.printed(/To start one:.*alone -- COMMAND.*alone .*Waiting for job.*fed .*Waiting for job/s);
  program.process.stdin.write('\x03');
  expect((await program.ended).code).toBe(130);
});

it('a type with shell characters is not put into a command', async () => {
  const { id } = await server.client.createJob({ type: '; rm -rf ~', items: [{}], sealed: true });
  await start(['watch', id], server.env).printed(
    'No worker is connected for ; rm -rf ~. To start one: `jobtree work TYPE -- COMMAND`\n',
  );
});

it('failed items give exit code 3, and the failures are listed by message', async () => {
  const items = ['no street', 'no street', 'no town', 'fine'].map((payload) => ({ payload }));
  const { id } = await server.client.createJob({ type: 'failing', items, sealed: true });
  const handler = (payload: string) => {
    if (payload !== 'fine') throw new PermanentError(`${payload}\nand more`, { code: 'BAD_ADDRESS' });
    return null;
  };
  await withWorker('failing', handler, async () => {
    const { code, stdout } = await start(['watch', id], server.env).ended;
    expect(code).toBe(3);
    expect(stdout).toContain('4 items: 1 succeeded, 3 failed in ');
    expect(stdout).toMatch(/\n {2}2 × BAD_ADDRESS: no street\n {2}1 × BAD_ADDRESS: no town\n$/);
  });
});

it('a failed job says so in its message and in the summary', async () => {
  const items = Array.from({ length: 3 }, () => ({}));
  const { id } = await server.client.createJob({
    type: 'strict',
    items,
    sealed: true,
    toleratedFailureCount: 0,
  });
  const handler = () => {
    throw new PermanentError('no');
  };
  await withWorker('strict', handler, async () => {
    const { code, stdout, stderr } = await start(['watch', id], server.env).ended;
    expect(code).toBe(3);
    expect(stderr).toContain('Job failed\n');
    expect(stdout).toMatch(/^3 items: 0 succeeded, [123] failed \(more than the job tolerates\).*\n/);
  });
  const { stdout } = await run(['jobs', '--type', 'strict'], { env: server.env });
  expect(stdout).toMatch(/ strict +failed +3\/3, [123] failed(, [12] cancelled)? +\d+s\n/);
});

it('--json prints one object per line, the summary last', async () => {
  const { id } = await server.client.createJob({ type: 'json', items: [{}], sealed: true });
  await server.client.cancelJob(id);
  const { code, stdout } = await run(['watch', id, '--json'], { env: server.env });
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(code).toBe(3);
  expect(lines.at(0)).toMatchObject({ event: 'progress', jobId: id, type: 'json', itemCount: 1 });
  expect(lines.at(-1)).toEqual({
    event: 'summary',
    jobId: id,
    type: 'json',
    itemCount: 1,
    succeeded: 0,
    failed: 0,
    cancelled: 1,
    outcome: 'CANCELLED',
    cancelReason: 'REQUESTED',
    seconds: null,
    itemsPerSecond: null,
    failures: [],
    fileError: null,
  });
});

it('--tree shows every job of the tree, starting from any of them', async () => {
  const { id } = await server.client.createJob({
    type: 'cut',
    items: [{ payload: 1 }],
    sealed: true,
    children: [{ type: 'glue', feed: {} }],
  });
  const child = (await server.client.job(id)).children[0]?.id ?? '';
  await withWorker(
    'cut',
    () => 2,
    () =>
      withWorker(
        'glue',
        () => 3,
        async () => {
          const { code, stdout, stderr } = await start(['watch', child, '--tree'], server.env).ended;
          expect(code).toBe(0);
          expect(stderr).toContain('cut: Job complete\n');
          expect(stderr).toContain('glue: Job complete\n');
          expect(stdout).toMatch(/^cut: 1 item: 1 succeeded.*\nglue: 1 item: 1 succeeded/);
        },
      ),
  );
});

it('a tree says which of its stages it has reached, on a terminal too', async () => {
  const { id } = await server.client.createJob({
    type: 'stage one',
    items: [{}, {}],
    children: [{ type: 'stage two', feed: {}, children: [{ type: 'stage three', feed: {} }] }],
  });
  const plain = start(['watch', id], server.env);
  const drawn = startOnTerminal(['watch', id], server.env);
  await plain.printed(/^Tree running, stage 1 of 3, 0 of 2 items so far…\n/);
  await drawn.printed('Tree running, stage 1 of 3, 0 of 2 items so far…');
  await server.client.cancelJob(id);
  expect((await plain.ended).stderr).toContain('\nTree cancelled\n');
  expect((await drawn.ended).stdout).toContain('Tree cancelled  2/2');
});

it('on a terminal a bar moves within 80 columns, and the cursor is restored', async () => {
  const { id } = await server.client.createJob({ type: 'bar', items: [{}, {}], sealed: true });
  const program = startOnTerminal(['watch', id], server.env);
  await program.printed('░  Waiting for job to start…  0/2');
  const goOn = signal();
  let handled = 0;
  await withWorker(
    'bar',
    async () => {
      if (handled++ > 0) await goOn.promise;
      return null;
    },
    async () => {
      await program.printed(`${'█'.repeat(12)}${'░'.repeat(12)}  Job running, 50% complete…  1/2`);
      goOn.fire();
      const { code, stdout } = await program.ended;
      expect(code).toBe(0);
      expect(stdout).toContain(`${'█'.repeat(24)}  Job complete  2/2`);
      expect(stdout.lastIndexOf('\x1b[?25h')).toBeGreaterThan(stdout.lastIndexOf('\x1b[?25l'));
      const shown = stripVTControlCharacters(stdout.replaceAll('\x1b[1G', '\n')).split(/[\r\n]+/);
      expect(Math.max(...shown.map((line) => line.length))).toBeLessThan(80);
    },
  );
});

it('an outage of the server and its end are reported, on a terminal too', async () => {
  const { id } = await server.client.createJob({ type: 'away', items: [{}], sealed: true });
  const proxy = await startProxy(server.url);
  try {
    const plain = start(['watch', id], { JOBTREE_URL: proxy.url });
    const json = start(['watch', id, '--json'], { JOBTREE_URL: proxy.url });
    const drawn = startOnTerminal(['watch', id], { JOBTREE_URL: proxy.url });
    await Promise.all([
      plain.printed('Waiting for job'),
      json.printed('"progress"'),
      drawn.printed('Waiting for job'),
    ]);
    proxy.cut();
    await Promise.all([
      plain.printed('Trying again…\n'),
      json.printed('"event":"disconnected"'),
      drawn.printed('again…'),
    ]);
    proxy.mend();
    await Promise.all([
      plain.printed('The server is back.\n'),
      json.printed('{"event":"connected"}'),
      drawn.printed('The server is back.'),
    ]);
    await server.client.cancelJob(id);
    for (const program of [plain, json, drawn]) expect((await program.ended).code).toBe(3);
    // That nobody works on it may be said, too, where this takes long.
    const { stderr } = await plain.ended;
    expect(stderr.replace(/^No worker.*\n/m, '')).toMatch(
      /^Waiting for .*\n.+ Trying again…\nThe server is back\.\nJob cancelled\n$/,
    );
  } finally {
    await proxy.close();
  }
});

it('a job that stands still says that items wait for a retry, and once why', async () => {
  const { client } = server;
  const { id } = await client.createJob({
    type: 'retried',
    items: [{}, {}, {}, {}],
    sealed: true,
    backoffMs: [3_600_000],
  });
  const [one, two, three] = await client.claimItems('w', [{ type: 'retried', limit: 3 }]);
  await client.reportOutcomes([
    { assignmentId: one?.id ?? '', result: 1 },
    { assignmentId: two?.id ?? '', failure: { code: 'NO', message: 'not now' } },
  ]);
  const plain = start(['watch', id], server.env);
  const drawn = startOnTerminal(['watch', id], server.env);
  await plain.printed('Job running, 25% complete… (1 item waits for a retry)\n');
  await drawn.printed('Job running, 25% complete…  1 item waits for a retry');
  // It looks again after a change.
  await client.reportOutcomes([{ assignmentId: three?.id ?? '', result: 1 }]);
  await plain.printed('Job running, 50% complete… (1 item waits for a retry)\n');
  const cause = `${two?.itemId} waits for a retry after NO: not now`;
  await client.cancelJob(id);
  const { stderr } = await plain.ended;
  expect(stderr).toContain('Job cancelled');
  expect(stderr.split('\n').filter((line) => line === cause)).toHaveLength(1);
  const screen = stripVTControlCharacters((await drawn.ended).stdout);
  expect(screen.replaceAll(/\s+/g, ' ')).toContain(cause);
});

it('Ctrl-C ends it and restores the cursor', async () => {
  const { id } = await server.client.createJob({ type: 'never' });
  const program = startOnTerminal(['watch', id], server.env);
  await program.printed('Waiting for job to start…');
  program.process.stdin.write('\x03');
  const { code, stdout } = await program.ended;
  expect(code).toBe(130);
  expect(stdout).toContain('\x1b[?25h');
});

it('impossible requests are refused at once', async () => {
  const url = `http://127.0.0.1:${await freePort()}/graphql`;
  const cases: [string[], number, string][] = [
    [[unknownJob], 4, 'There is no'],
    [['17'], 2, '17'],
    [[unknownJob, '--url', url], 5, `No answer from ${url}: ECONNREFUSED. To start a server:`],
    [[unknownJob, '--url', 'ftp://x'], 2, 'url must be an http or https address'],
    [[], 2, "missing required argument 'id'"],
  ];
  for (const [args, code, message] of cases) {
    const ended = await run(['watch', ...args], { env: server.env });
    expect({ args, code: ended.code, stdout: ended.stdout }).toEqual({ args, code, stdout: '' });
    expect(ended.stderr).toContain(message);
    expect(ended.stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
  }
});

it('a root with jobs below it is watched as a whole tree, unless only the job is requested', async () => {
  const tree = { type: 'above', sealed: true, children: [{ type: 'later', items: [{}], sealed: true }] };
  const { id } = await server.client.createJob(tree);
  const program = start(['watch', id], server.env);
  await program.printed('later: Waiting for job to start…\n');
  const alone = await run(['watch', id, '--no-tree'], { env: server.env });
  expect([alone.code, alone.stdout]).toEqual([0, expect.stringMatching(/^0 items/)]);
  await withWorker(
    'later',
    () => null,
    async () => {
      const { code, stdout } = await program.ended;
      expect([code, stdout]).toEqual([0, expect.stringContaining('later: 1 item: 1 succeeded')]);
    },
  );
  const type = ['--type', 'above'];
  const list = await run(['jobs', ...type, '--outcome', 'succeeded'], { env: server.env });
  expect(list.stdout).toMatch(/ above +completed +1\/1 /);
});

it('a caller that sees only part of a tree watches its root alone', async () => {
  const { client, db, url } = await startWithKeys();
  const children = [{ type: 'seen', items: [{}] }, { type: 'hidden' }];
  const { id } = await client.createJob({ type: 'seen', sealed: true, children });
  const { key } = await makeKey(db, ['watcher'], { types: ['seen'] });
  const { code, stdout } = await run(['watch', id], {
    env: { JOBTREE_URL: url, JOBTREE_TOKEN: key },
  });
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^0 items/)]);
});

it('an empty job that was cancelled gives exit code 3', async () => {
  const { id } = await server.client.createJob({ type: 'empty' });
  await server.client.cancelJob(id);
  expect((await run(['watch', id], { env: server.env })).code).toBe(3);
});

it('jobs counts failed and cancelled items', async () => {
  const { client } = server;
  const { id } = await client.createJob({ type: 'counted', items: [{}, {}, {}] });
  const [one] = await client.claimItems('w', [{ type: 'counted', limit: 1 }]);
  const failure = { code: 'E', message: 'no', permanent: true };
  await client.reportOutcomes([{ assignmentId: one?.id ?? '', failure }]);
  await client.cancelJob(id);
  await expect
    .poll(async () => (await run(['jobs', '--type', 'counted'], { env: server.env })).stdout)
    .toMatch(/ counted +cancelled +3\/3, 1 failed, 2 cancelled /);
});

it('jobs lists the newest first, by type and status, and ends quietly when its reader stops', async () => {
  for (let i = 0; i < 3; i++) await server.client.createJob({ type: 'listed', items: [{}], sealed: i === 0 });
  const { id } = await server.client.createJob({
    type: 'listed',
    sealed: true,
    children: [{ type: 'below' }],
  });
  const list = await run(['jobs', '--type', 'listed'], { env: server.env });
  expect(list.code).toBe(0);
  expect(list.stdout.split('\n')).toEqual([
    expect.stringMatching(/^ID +TYPE +STATUS +ITEMS +AGE$/),
    expect.stringMatching(new RegExp(`^${id}  listed +running +0/0 +\\d+s$`)),
    ...Array(3).fill(expect.stringMatching(/^Job:\S+ {2}listed +waiting +0\/1 +\d+s$/)),
    '',
  ]);
  const byStatus = (status: string) => run(['jobs', '--status', status, '--json'], { env: server.env });
  const [running] = (await byStatus('running')).stdout.split('\n');
  expect(JSON.parse(running ?? '')).toMatchObject({ id, treeProgress: { openJobs: 1 } });
  expect((await byStatus('completed')).stdout).not.toContain(id);
  const failed = await byStatus('failed');
  expect([failed.code, failed.stderr]).toEqual([2, expect.stringContaining('--outcome failed')]);
  const all = await run(['jobs', '--type', 'below', '--all'], { env: server.env });
  expect(all.stdout).toContain('below');
  const limited = await run(['jobs', '--type', 'listed', '--limit', '2'], { env: server.env });
  expect(limited.stdout.trimEnd().split('\n')).toHaveLength(3);

  // More than the pipe holds, so that the program meets the end of its reader.
  await Promise.all(Array.from({ length: 200 }, () => server.client.createJob({ type: 'listed' })));
  const many = await run(['jobs', '--type', 'listed', '--json', '--limit', '150'], { env: server.env });
  const ids = many.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).id);
  expect(new Set(ids).size).toBe(150);
  const piped = await startShell(
    '{ $JOBTREE jobs --json --limit 1000; echo "code $?" >&2; } | head -n 1',
    server.env,
  ).ended;
  expect(piped.stderr).toBe('code 0\n');
  expect(JSON.parse(piped.stdout)).toMatchObject({ type: 'listed' });
});

it('help that nobody reads is no error', async () => {
  const { stderr } = await startShell('{ $JOBTREE --help; echo "code $?" >&2; } | true', server.env).ended;
  expect(stderr).toBe('code 0\n');
});
