/** The compiled program as a process of its own, on pipes or on a terminal. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished } from 'vitest';
import { cli } from '../support/server.ts';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
  /** So far. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** Resolves when this was printed, on either stream; fails when the program ends without it. */
  printed(text: string | RegExp): Promise<void>;
}

type Env = Record<string, string | undefined>;

/** Starts the program; a test that ends before it, ends it. */
export function start(args: string[], env: Env = {}): Running {
  return follow(spawn(process.execPath, [cli, ...args], { env: { ...process.env, ...env } }), cli);
}

/** Starts a shell command with `$JOBTREE` for the program. */
export function startShell(command: string, env: Env = {}): Running {
  const program = `${process.execPath} ${cli}`;
  return follow(spawn('sh', ['-c', command], { env: { ...process.env, JOBTREE: program, ...env } }), command);
}

/** Starts the program on a terminal; everything it shows is in `stdout`. */
export function startOnTerminal(args: string[], env: Env = {}, columns = 80): Running {
  const quoted = [process.execPath, cli, ...args].map((arg) => `'${arg}'`).join(' ');
  const command = `stty cols ${columns} rows 24; exec ${quoted}`;
  return follow(
    spawn('script', ['-qec', command, '/dev/null'], { env: { ...process.env, ...env } }),
    command,
  );
}

/** Runs the program to its end. */
export async function run(
  args: string[],
  options: { env?: Env; input?: string | Buffer } = {},
): Promise<Ended> {
  const program = start(args, options.env);
  program.process.stdin.end(options.input);
  return program.ended;
}

function follow(child: ChildProcessWithoutNullStreams, name: string): Running {
  const output = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
      for (const check of waiting) check();
    });
  }
  child.stdin.on('error', () => {}); // not every program reads its input
  const ended = once(child, 'close').then(([code]): Ended => ({ code: code as number | null, ...output }));
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  });
  return {
    process: child,
    ended,
    output,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const has = (shown: string) => (typeof text === 'string' ? shown.includes(text) : text.test(shown));
        const check = () => {
          if (!has(output.stdout) && !has(output.stderr)) return false;
          waiting.delete(check);
          resolve();
          return true;
        };
        if (check()) return;
        waiting.add(check);
        void ended.then(() => {
          if (!check())
            reject(new Error(`${name} ended without "${text}":\n${output.stdout}${output.stderr}`));
        });
      }),
  };
}

/** Runs the commands of an example in the documentation, with ids instead of those that it cuts short, and other words replaced; what each printed. */
export async function runCommands(example: string, ids: Record<string, string>, env: Env): Promise<string[]> {
  const outputs: string[] = [];
  for (const [, command = ''] of example.matchAll(/^\$ jobtree (.*)$/gm)) {
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
    const args = words.map((word) => ids[/^(\w+):.*…$/.exec(word)?.[1] ?? word] ?? word);
    const { code, stdout, stderr } = await run(args, { env });
    // These say there how far they are.
    const says = /^(work|import|watch) /.test(command) ? stderr : '';
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: says });
    outputs.push(stdout);
  }
  return outputs;
}
