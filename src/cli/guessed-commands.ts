/** What those who know other queues try, and what does it here. */
const guessed: Readonly<Record<string, string>> = {
  pause: 'To pause a type: `jobtree queue TYPE --pause`. To pause a schedule: `jobtree schedule pause NAME`.',
  resume:
    'To resume a type: `jobtree queue TYPE --resume`. To resume a schedule: `jobtree schedule resume NAME`.',
  failed: 'To list what failed for good: `jobtree dead-letters`, or `jobtree jobs --outcome failed`.',
  logs: 'To show what a handler logged: `jobtree items JobItem:ID`. The server logs to its standard error.',
  status: 'To show how far a job is: `jobtree watch ID`, `jobtree jobs`. To show all types: `jobtree top`.',
  export: 'To write the results of a tree to a file: `jobtree results ID --out FILE`.',
  list: 'To list trees of jobs: `jobtree jobs`. To list all commands: `jobtree help commands`.',
  stop: 'To stop a server or a worker: press Ctrl-C where it runs, or send it SIGTERM. To stop work: `jobtree cancel ID`, `jobtree queue TYPE --pause`.',
  retry:
    'To try again what failed for good: `jobtree replay`. To try an item now: `jobtree update-item ID --run-at now`.',
};

/** Commander's message on an unknown command, with what was probably meant, if that is known. */
export function withHint(text: string): string {
  const [line, name = ''] = /^error: unknown command '(\w+)'/.exec(text) ?? [];
  const hint = guessed[name];
  return line === undefined || hint === undefined ? text : `${line}. ${hint}\n`;
}
