import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { LookUp } from '../domain/callbacks/addresses.ts';
import type { SocketServerOptions } from './sockets/websocket.ts';

export interface AppOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly logger: Logger;
  /** Shorter times, for tests. */
  readonly times?: SocketServerOptions['times'] & {
    stalledAfterMs?: number;
    storeMs?: number;
    certificateMs?: number;
  };
  /** A name lookup of their own, for tests. */
  readonly lookUp?: LookUp;
}
