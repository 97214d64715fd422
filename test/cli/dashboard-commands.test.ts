import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';

const folder = new URL('../../src/dashboard/', import.meta.url);

it('what the dashboard copies as a command is one, with options that it has', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.tsx'),
  );
  const copied = files.flatMap((name) => [
    ...readFileSync(new URL(name, folder), 'utf8').matchAll(/`jobtree ([^`\n]+)/g),
  ]);
  expect(copied.length).toBeGreaterThan(10);
  for (const [, written = ''] of copied) {
    const text = written.replaceAll(/\$\{[^{}]*(\{[^{}]*\}[^{}]*)*\}/g, ' ');
    const [first, second] = text.split(/\s+/);
    const command = createProgram().commands.find((one) => one.name() === first);
    expect(command, text).toBeDefined();
    const inner = command?.commands.find((one) => one.name() === second) ?? command;
    for (const [option] of text.matchAll(/--[a-z-]+/g))
      expect(
        inner?.options.map(({ long }) => long),
        text,
      ).toContain(option);
  }
});
