/**
 * npm run check:generated
 *
 * Proves that the generated files in the repository are what their sources give: generates them afresh in a copy of the
 * working tree and compares byte by byte. The working tree itself is only read.
 */
import { execFileSync, execSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const GENERATED = ['schema.graphql', 'src/generated'];

const repository = fileURLToPath(new URL('..', import.meta.url));
const copy = mkdtempSync(join(tmpdir(), 'jobtree-generated-'));
try {
  copySources();
  execSync('npm run --silent generate', { cwd: copy, stdio: ['ignore', 'ignore', 'inherit'] });
  const files = new Set([...(await generatedFiles(repository)), ...(await generatedFiles(copy))]);
  const outdated = [...files].filter((file) => read(repository, file) !== read(copy, file));
  for (const file of outdated.sort()) console.error(`Not current: ${file}`);
  if (outdated.length > 0) {
    console.error('Run "npm run generate" and commit what it changes.');
    process.exitCode = 1;
  }
} finally {
  rmSync(copy, { recursive: true });
}

/** Leaves out what is generated, so that a file to which nothing leads any more is noticed too. */
function copySources(): void {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
    encoding: 'utf8',
  });
  for (const file of list.split('\0').filter(Boolean)) {
    const generated = GENERATED.some((path) => file === path || file.startsWith(`${path}/`));
    if (!generated && existsSync(join(repository, file))) cpSync(join(repository, file), join(copy, file));
  }
  symlinkSync(join(repository, 'node_modules'), join(copy, 'node_modules'), 'junction');
}

async function generatedFiles(tree: string): Promise<string[]> {
  const entries = await readdir(join(tree, 'src/generated'), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map((file) => relative(tree, join(file.parentPath, file.name)).split(sep).join('/'));
  return ['schema.graphql', ...paths];
}

function read(tree: string, file: string): string | undefined {
  const path = join(tree, file);
  return existsSync(path) ? readFileSync(path, 'latin1') : undefined;
}
