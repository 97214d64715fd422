import { onBrokenPipe } from './broken-pipe.ts';

/** The action of a command: what `command` returns is the exit code. `brokenPipe`: see onBrokenPipe. */
// biome-ignore lint/suspicious/noExplicitAny: commander gives arguments and options without types
export function run(brokenPipe: 'end' | 'continue', command: (...args: any[]) => Promise<number>) {
  return async (...args: unknown[]) => {
    onBrokenPipe(brokenPipe);
    process.exitCode = await command(...args);
  };
}
