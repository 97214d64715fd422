import { onBrokenPipe } from './broken-pipe.ts';
import { endWithNpm } from './parent.ts';

/** The action of a command: what `command` returns is the exit code. `brokenPipe`: see onBrokenPipe. */
// biome-ignore lint/suspicious/noExplicitAny: commander gives arguments and options without types
export function run(brokenPipe: 'end' | 'continue', command: (...args: any[]) => Promise<number>) {
  return async (...args: unknown[]) => {
    onBrokenPipe(brokenPipe);
    const options = args.at(-2) as { readonly detach?: true };
    if (!options.detach) endWithNpm();
    process.exitCode = await command(...args);
  };
}
