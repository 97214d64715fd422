/** Who gets colours. */
import { expect, it } from 'vitest';
import { run, startOnTerminal } from './program.ts';

const colour = '\u001b[';
const off = {
  NO_COLOR: undefined,
  FORCE_COLOR: undefined,
  NODE_DISABLE_COLORS: undefined,
  // Node takes a terminal of such a machine for one without colours.
  CI: undefined,
  TERM: 'xterm-256color',
};
const wrong = ['no-such-command'];

it('output has colours on a terminal and none in a pipe', async () => {
  expect((await startOnTerminal(wrong, off).ended).stdout).toContain(colour);
  expect((await run(wrong, { env: off })).stderr).toBe(
    "jobtree: unknown command 'no-such-command'\n`jobtree help` lists the commands.\n",
  );
});

it('NO_COLOR removes colours, FORCE_COLOR adds them in a pipe', async () => {
  expect((await startOnTerminal(wrong, { ...off, NO_COLOR: '1' }).ended).stdout).not.toContain(colour);
  expect((await startOnTerminal(wrong, { ...off, TERM: 'dumb' }).ended).stdout).not.toContain(colour);
  expect((await run(wrong, { env: { ...off, FORCE_COLOR: '1' } })).stderr).toContain(colour);
});
