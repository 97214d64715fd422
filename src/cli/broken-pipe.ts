/** A reader that went away, as in `jobtree jobs | head`, is no error. */

let endsCommand = true;

/** From now on the command ends quietly when nobody reads what it prints. */
export function endOnBrokenPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (endsCommand) process.exit(0);
    });
  }
}

/** The command has more to do than to print. */
export function outliveBrokenPipe(): void {
  endsCommand = false;
}
