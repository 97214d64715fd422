#!/usr/bin/env node
/** The program `jobtree`. */
import { CommanderError } from 'commander';
import { endOnBrokenPipe } from './broken-pipe.ts';
import { reportError, reportFault } from './command-error.ts';
import { exitCodes } from './exit-codes.ts';
import { createProgram } from './program.ts';

// Libraries check more and run slower unless they are told; the commands load them later.
process.env.NODE_ENV ??= 'production';
// Where passwords and keys stand, which its reports of a crash would have. Node.js 20 has no such option.
Object.assign(process.report, { excludeEnv: true });

endOnBrokenPipe();
for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, reportFault);
try {
  await createProgram().parseAsync();
} catch (error) {
  // Commander has printed its help or complaint.
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
  else process.exitCode = reportError(error);
}
