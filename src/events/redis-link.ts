/**
 * Keeps one connection to Redis. A connection that fails, or does not answer a probe in time, is replaced by a new one, to the
 * next address if there are several. ioredis itself would queue, resend and resubscribe in the background, and hide from its
 * caller that messages were lost.
 *
 * A Redis Cluster passes every message to all its nodes, so a plain connection to any of them suffices.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis, RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import { withTimeout } from '../concurrency/with-timeout.ts';
import type { RedisConfig } from '../config/redis-url.ts';

export interface RedisLinkOptions {
  readonly config: RedisConfig;
  /** What the connection is for, in the log. */
  readonly purpose: string;
  readonly logger: Logger;
  /** Sends a command that Redis must answer: at the start, and then twice a second. */
  readonly probe: (redis: Redis) => Promise<unknown>;
  readonly onUp: (redis: Redis) => void;
  readonly onDown: () => void;
}

const probeEveryMs = 500;
const answerMs = 1_000;
const connectMs = 3_000;
const backoffMs = [50, 100, 250, 500, 1_000];
/** A connection that lasted this long was good. */
const goodAfterMs = 5_000;

export class RedisLink {
  readonly #options: RedisLinkOptions;
  #redis: Redis | undefined;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #loop: Promise<void> | undefined;
  #gone = new AbortController();
  readonly #stopped = new AbortController();

  constructor(options: RedisLinkOptions) {
    this.#options = options;
  }

  /** The connection, while it works. */
  get redis(): Redis | undefined {
    return this.#redis;
  }

  /** When Redis last answered, on the clock of `performance.now()`. */
  get answeredAt(): number {
    return this.#answeredAt;
  }

  start(): void {
    this.#loop ??= this.#keep();
  }

  /** Replaces a connection that is of no use. */
  drop(reason: unknown): void {
    this.#gone.abort(reason);
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    this.#gone.abort();
    await this.#loop;
  }

  async #keep(): Promise<void> {
    const { config, logger, purpose } = this.#options;
    // Imported only here, so that a server without Redis starts sooner.
    const { Redis } = await import('ioredis');
    let address = Math.floor(Math.random() * config.addresses.length);
    let failures = 0;
    while (!this.#stopped.signal.aborted) {
      let upAt = Number.POSITIVE_INFINITY;
      try {
        await this.#use(new Redis(redisOptions(config, address++)), () => {
          upAt = performance.now();
          if (failures > 0) logger.info({ purpose }, 'Redis works again');
        });
      } catch (error) {
        if (this.#stopped.signal.aborted) return;
        if (performance.now() - upAt > goodAfterMs) failures = 0;
        // Not the error itself: the one from AUTH holds the password.
        const reason = error instanceof Error ? error.message : String(error);
        logger[failures === 0 ? 'warn' : 'debug']({ purpose, reason }, 'Redis does not work; trying again');
      }
      const pause = (backoffMs[failures++] ?? 1_000) * (0.5 + Math.random());
      await delay(pause, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }

  /** Uses one connection until it fails. */
  async #use(redis: Redis, onUp: () => void): Promise<void> {
    const gone = new AbortController();
    this.#gone = gone;
    let lastError: Error | undefined;
    redis.on('error', (error: Error) => {
      lastError = error;
    });
    redis.once('end', () => gone.abort(lastError ?? new Error('the connection ended')));
    try {
      await connected(redis, gone.signal);
      for (;;) {
        await withTimeout(answerMs, this.#options.probe(redis));
        this.#answeredAt = performance.now();
        if (gone.signal.aborted) throw gone.signal.reason;
        if (this.#redis === undefined) {
          this.#redis = redis;
          onUp();
          this.#options.onUp(redis);
        }
        await delay(probeEveryMs, undefined, { signal: gone.signal }).catch(() => {
          throw gone.signal.reason;
        });
      }
    } finally {
      // After the end, disconnect() would set a timer to wait for it; before, it would wait for the other side of a half-open socket.
      if (redis.status !== 'end') redis.disconnect();
      redis.stream?.destroy();
      if (this.#redis !== undefined) {
        this.#redis = undefined;
        this.#options.onDown();
      }
    }
  }
}

/** Connects, and rejects with the reason of a failure, where ioredis only says that the connection closed. */
async function connected(redis: Redis, signal: AbortSignal): Promise<void> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => undefined);
  const closed = redis.connect().catch(() => aborted);
  await withTimeout(connectMs, Promise.race([closed, aborted]));
}

export function redisOptions(config: RedisConfig, attempt: number): Omit<RedisOptions, 'replyMapping'> {
  const tls = config.tls ? { tls: {} } : {};
  const login = {
    ...(config.username === undefined ? {} : { username: config.username }),
    ...(config.password === undefined ? {} : { password: config.password }),
  };
  const common: Omit<RedisOptions, 'replyMapping'> = {
    ...login,
    ...tls,
    lazyConnect: true,
    retryStrategy: null,
    connectTimeout: connectMs,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    // RESP2 needs no HELLO, which a user's rules, an old server or a proxy may refuse; pub/sub gains nothing from RESP3.
    protocol: 2,
    connectionName: 'jobtree',
    disableClientInfo: true,
  };
  if (config.kind !== 'sentinel') {
    const { host, port } = config.addresses[attempt % config.addresses.length] as {
      host: string;
      port: number;
    };
    return { ...common, host, port, enableReadyCheck: false };
  }
  return {
    ...common,
    sentinels: [...config.addresses],
    name: config.masterName as string,
    ...(config.sentinelUsername === undefined ? {} : { sentinelUsername: config.sentinelUsername }),
    ...(config.sentinelPassword === undefined ? {} : { sentinelPassword: config.sentinelPassword }),
    sentinelRetryStrategy: () => null,
    sentinelCommandTimeout: connectMs,
    ...(config.tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    // Sentinels can lag: INFO tells whether the server is still the master.
    enableReadyCheck: true,
  };
}
