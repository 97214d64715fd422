import type { Config } from '../../config/config.ts';

const marginMs = 5_000;

/** How long a server may take to shut down; after that, something hangs. */
export function shutdownTimeMs({ shutdownDelayMs, shutdownTimeoutMs }: Config): number {
  return shutdownDelayMs + shutdownTimeoutMs + marginMs;
}
