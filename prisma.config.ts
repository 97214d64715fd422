import { defineConfig } from 'prisma-cli/config';

// `generate`, `validate` and `format` look for the native schema engine before they do their work, which none of them
// needs. Any existing file satisfies the look; it is never run.
if (process.argv.some((argument) => ['generate', 'validate', 'format'].includes(argument))) {
  process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;
}

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? 'postgresql://localhost:5432/jobtree?schema=jobtree' },
});
