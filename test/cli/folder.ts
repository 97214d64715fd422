/** A folder for the files of a test, which any account may enter: Postgres runs as another one when the tests run as root. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'jobtree-cli-'));
  await chmod(folder, 0o755);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a file for this test only; returns its path. */
export async function makeFile(name: string, content: string | Buffer): Promise<string> {
  const file = join(await makeFolder(), name);
  await writeFile(file, content);
  return file;
}
