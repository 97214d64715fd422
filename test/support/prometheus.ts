/** Prometheus with the configuration and the rules that deploy/ has. Without one on the PATH its tests are skipped, but never in CI. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './ports.ts';

export const withoutPrometheus =
  spawnSync('prometheus', ['--version']).status !== 0 && process.env.CI !== 'true';
if (withoutPrometheus) console.log('Tests with Prometheus are skipped: install prometheus.');

const folder = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url));
export const rulesFile = `${folder}jobtree.rules.yml`;

export interface Prometheus {
  /** The data of an answer of its API: `query?query=up`. */
  ask(path: string): Promise<any>;
  stop(): Promise<void>;
}

/** The configuration and the rules as they are, but for addresses, for how often it looks, and perhaps for how long an alert waits until it fires. */
export async function startPrometheus(serverUrl: string, firesAfter?: string): Promise<Prometheus> {
  const directory = await mkdtemp(join(tmpdir(), 'jobtree-prometheus-'));
  const port = await freePort();
  const text = (await readFile(`${folder}prometheus.yml`, 'utf8'))
    .replaceAll('15s', '200ms')
    .replace('127.0.0.1:4000', new URL(serverUrl).host);
  await writeFile(join(directory, 'prometheus.yml'), text);
  const rules = await readFile(rulesFile, 'utf8');
  await writeFile(
    join(directory, 'jobtree.rules.yml'),
    firesAfter === undefined ? rules : rules.replace(/for: \d+m/g, `for: ${firesAfter}`),
  );
  const args = [
    `--config.file=${directory}/prometheus.yml`,
    `--storage.tsdb.path=${directory}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn('prometheus', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/-/ready`).catch(() => undefined))?.ok) {
    if (child.exitCode !== null) throw new Error(`Prometheus ended:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    ask: async (path) => {
      const answer = (await (await fetch(`${url}/api/v1/${path}`)).json()) as any;
      if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
      return answer.data;
    },
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      await rm(directory, { recursive: true });
    },
  };
}
