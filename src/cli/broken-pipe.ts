/** A reader that went away, as in `jobtree jobs | head`, is no error. */

/** `end`: the output was the purpose, so the command ends quietly. `continue`: it has more to do than to print. */
export function onBrokenPipe(reaction: 'end' | 'continue'): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (reaction === 'end') process.exit(0);
    });
  }
}
