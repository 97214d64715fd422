#!/usr/bin/env node
/**
 * Runs the compiled program. It is a file of its own because npx keeps what it finds when it first looks for the command: in a checkout
 * that was not compiled by then, it would not find the command later either.
 */
import { existsSync } from 'node:fs';

const program = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  console.error('jobtree: This checkout is not compiled yet: `npm run build` compiles it.');
  process.exitCode = 1;
}
