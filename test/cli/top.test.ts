/** `jobtree top`: once, on a pipe, and on a terminal. */
import { stripVTControlCharacters } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { work } from '../support/api.ts';
import { startProxy } from '../support/proxy.ts';
import { useServer } from '../support/use-server.ts';
import { run, start, startOnTerminal } from './program.ts';

const server = useServer();
const longName = `import of ${'very '.repeat(30)}long names`;

it('top --once shows types with their rates, the busiest first, with whole names in a pipe', async () => {
  await server.client.createJob({ type: 'letters', items: Array.from({ length: 20 }, () => ({})) });
  await server.client.createJob({ type: longName, items: [{}, {}] });
  await server.client.createJob({ type: 'bad\u001b[31m', items: [{}] });
  await server.client.queues.pause(longName);
  await work(server.url, 'letters', 12);
  const { code, stdout, stderr } = await run(['top', '--once'], { env: server.env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toBe('rates, times and failures of the last minute');
  expect(lines[1]).toMatch(/^TYPE +READY +OLDEST +RUN +SLOW +RATE\/S +WAIT p95 +TIME p95 +FAILED +DEAD$/);
  expect(lines[2]).toMatch(/^letters +8! +\d+(\.\d)?m?s +0 +0 +[\d.]+ +\d+(\.\d)?m?s +\d+(\.\d)?m?s +0 +0$/);
  expect(lines[3]?.startsWith(`${longName}  `)).toBe(true);
  expect(lines[3]).toMatch(/ \(2\)! /);
  expect(lines[4]?.startsWith('bad\\u001b[31m ')).toBe(true);
  expect(stdout).not.toContain('\u001b');

  const json = await run(['top', '--once', '--json', '--minutes', '5'], { env: server.env });
  const [letters] = json.stdout
    .split('\n')
    .map((line) => (line === '' ? {} : JSON.parse(line)))
    .filter(({ type }) => type === 'letters');
  expect(letters).toMatchObject({ ready: 8, figures: { claimed: 12, succeeded: 12 } });
});

it('top repeats until Ctrl-C, also without a terminal', async () => {
  const { process: child, printed, ended } = start(['top', '--interval', '100ms'], server.env);
  await printed('\n\nrates, times');
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 130, stderr: '' });
});

it('on a terminal top draws in place, and restores the screen', async () => {
  const { process: child, printed, ended } = startOnTerminal(['top', '--interval', '100ms'], server.env);
  await printed('\u001b[H');
  await printed('letters');
  child.stdin.write('\u0003');
  const { code, stdout } = await ended;
  expect(code).toBe(130);
  expect(stdout.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
  expect(stdout.trimEnd().replace('^C', '').endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});

it('top says that the server is away, and goes on when it is back', async () => {
  const proxy = await startProxy(server.url);
  onTestFinished(() => proxy.close());
  const env = { ...server.env, JOBTREE_URL: proxy.url };
  const { process: child, printed, ended } = startOnTerminal(['top', '--interval', '100ms'], env);
  await printed('letters');
  proxy.cut();
  await printed(/No answer from .*Trying again/s);
  proxy.mend();
  await printed(new RegExp(`Trying again.*${'\u001b'}\\[Hrates, times`, 's'));
  child.stdin.write('\u0003');
  expect((await ended).code).toBe(130);
});

it('on a small screen whole types are shown, with what their figures are of and how many there are besides', async () => {
  const types = Array.from({ length: 20 }, (_, n) => `small-${n}`);
  await Promise.all(types.map((type) => server.client.createJob({ type, items: [{}] })));
  const listed = (await server.client.queues.figures()).length;
  const { process: child, printed, ended } = startOnTerminal(['top'], server.env, 40);
  await printed(/more types/);
  child.stdin.write('\u0003');
  const [, drawn = ''] = (await ended).stdout.split('\u001b[H');
  const lines = stripVTControlCharacters(drawn.split('\u001b[J')[0] ?? '').split(/\r+\n/);
  expect(lines.slice(0, 2)).toEqual(['rates, times and failures of the last', 'minute']);
  expect(lines.length).toBeLessThanOrEqual(24);
  expect(lines.filter((line) => line.length > 40)).toEqual([]);
  // Each takes two lines, below a heading of four; the last line says what is left.
  const shown = (lines.length - 5) / 2;
  expect(lines.at(-1)).toBe(`… and ${listed - shown} more types`);
});
