import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
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
  /** How many claims of one caller may wait, for tests. */
  readonly parkedClaims?: number;
  /** A name lookup of their own, for tests. */
  readonly lookUp?: LookUp;
}
