import { outliveBrokenPipe } from './broken-pipe.ts';
import { endWithNpm } from './parent.ts';

/** The action of a command: what `command` returns is the exit code. `brokenPipe`: whether it goes on when nobody reads what it prints. */
// biome-ignore lint/suspicious/noExplicitAny: commander gives arguments and options without types
export function run(brokenPipe: 'end' | 'continue', command: (...args: any[]) => Promise<number>) {
  return async (...args: unknown[]) => {
    if (brokenPipe === 'continue') outliveBrokenPipe();
    const options = args.at(-2) as { readonly detach?: true };
    if (!options.detach) endWithNpm();
    process.exitCode = await command(...args);
  };
}
