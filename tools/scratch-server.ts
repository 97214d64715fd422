/** An embedded Postgres in a temporary folder, with nothing kept after it. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../src/embedded/start.ts';

export async function startScratchServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const { url, stop, dataDirectory } = await startEmbeddedPostgres({
    dataDirectory: join(tmpdir(), `jobtree-scratch-${randomUUID()}`),
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  });
  return {
    url,
    stop: async () => {
      await stop();
      rmSync(dataDirectory, { recursive: true });
    },
  };
}
