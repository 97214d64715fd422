/**
 * npm run migration -- <name>
 *
 * Writes prisma/migrations/<time>_<name>/migration.sql with all that prisma/schema.prisma and prisma/functions have and the
 * migrations don't. What Prisma can't express is then added there by hand. Works in databases of its own, on the server
 * of DATABASE_URL or else on an embedded one.
 */
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrationsDirectory } from '../src/db/migrate.ts';
import { startScratchServer } from './scratch-server.ts';
import { writeMigration } from './write-migration.ts';

const [name, ...rest] = process.argv.slice(2);
if (name === undefined || rest.length > 0 || !/^[a-z0-9_]+$/.test(name)) {
  console.error('Usage: npm run migration -- <name>    (lower-case letters, digits, underscores)');
  process.exit(1);
}

const server = process.env.DATABASE_URL ? undefined : await startScratchServer();
try {
  const folder = await writeMigration({
    url: server?.url ?? (process.env.DATABASE_URL as string),
    migrationsDirectory,
    schemaFile: fileURLToPath(new URL('../prisma/schema.prisma', import.meta.url)),
    functionsDirectory: fileURLToPath(new URL('../prisma/functions', import.meta.url)),
    name,
  });
  console.log(folder ? `Wrote ${relative('.', folder)}/migration.sql` : 'The migrations lack nothing.');
} finally {
  await server?.stop();
}
