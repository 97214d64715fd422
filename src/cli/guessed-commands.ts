/** What those who know other queues try, and what does it here. */
const guessed: Readonly<Record<string, string>> = {
  pause: 'To pause a type: `jobtree queue TYPE --pause`. To pause a schedule: `jobtree schedule pause NAME`.',
  resume:
    'To resume a type: `jobtree queue TYPE --resume`. To resume a schedule: `jobtree schedule resume NAME`.',
  failed: 'To list what failed for good: `jobtree dead-letters`, or `jobtree jobs --outcome failed`.',
  logs: 'To show what a handler logged: `jobtree items JobItem:ID`. The server logs to its standard error.',
  status: 'To show how far a job is: `jobtree watch ID`, `jobtree jobs`. To show all types: `jobtree top`.',
  item: 'To show an item, and why it is not running: `jobtree items JobItem:ID`.',
  job: 'To say why a job is not running: `jobtree why ID`. To show how far it is: `jobtree watch ID`.',
  export: 'To write the results of a tree to a file: `jobtree results ID --out FILE`.',
  list: 'To list trees of jobs: `jobtree jobs`. To list all commands: `jobtree help commands`.',
  ls: 'To list trees of jobs: `jobtree jobs`. To list all commands: `jobtree help commands`.',
  stats: 'To show how much of each type is done, waits and fails: `jobtree top`, `jobtree queues`.',
  add: 'To create a job with an item for each row of a file: `jobtree import FILE --type TYPE`. To create a tree: `jobtree create FILE`.',
  stop: 'To stop a server or a worker: press Ctrl-C where it runs, or send it SIGTERM. To stop work: `jobtree cancel ID`, `jobtree queue TYPE --pause`.',
  retry:
    'To try again what failed for good: `jobtree replay`. To try an item now: `jobtree update-item ID --run-at now`.',
};

/** What other servers take as options. */
const settings: Readonly<Record<string, string>> = {
  '--port': 'JOBTREE_PORT',
  '--host': 'JOBTREE_HOST',
  '--database': 'DATABASE_URL',
  '--database-url': 'DATABASE_URL',
};

/** Commander's message on an unknown command or option, with what was probably meant, if that is known. */
export function withHint(text: string): string {
  const [line, kind, name = ''] = /^error: unknown (command|option) '([\w-]+)'/.exec(text) ?? [];
  const setting = settings[name];
  const hint =
    kind === 'command'
      ? guessed[name]
      : setting && `The settings of the server are environment variables: this one is ${setting}.`;
  return line === undefined || hint === undefined ? text : `${line}. ${hint}\n`;
}
