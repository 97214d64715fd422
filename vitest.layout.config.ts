import { defineConfig } from 'vitest/config';

/** The checks that read the sources alone, without Postgres. */
export default defineConfig({ test: { include: ['test/layout/**/*.test.ts'] } });
