/** Redis: whether it answers, whether hints arrive through it, and whether servers pass any on. */
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { withTimeout } from '../concurrency/with-timeout.ts';
import type { Config } from '../config/config.ts';
import { counted } from '../domain/values/counted.ts';
import { Channels } from '../events/redis-channels.ts';
import { redisOptions } from '../events/redis-link.ts';
import { type Judgement, ok, span, warning } from './finding.ts';

const answerMs = 3_000;
/** A relay gives a sign of life twice a second, and another one takes over within three. */
const relayMs = 4_000;
const oldestVersion = '6.2';

interface Asked {
  /** Undefined if Postgres did not say which. */
  readonly prefix: string | undefined;
  readonly isWatched: boolean;
  /** Ends the check. */
  readonly signal?: AbortSignal | undefined;
}

/** What Redis passes on, on channels of this database. */
export async function checkRedis(
  config: NonNullable<Config['redis']>,
  { prefix, isWatched, signal }: Asked,
): Promise<Judgement[]> {
  const [publisher, subscriber] = [new Redis(redisOptions(config, 0)), new Redis(redisOptions(config, 1))];
  const disconnect = () => {
    for (const redis of [publisher, subscriber]) redis.disconnect();
  };
  signal?.addEventListener('abort', disconnect);
  let reason: unknown;
  for (const redis of [publisher, subscriber]) redis.on('error', (error) => (reason = error));
  try {
    await withTimeout(answerMs, Promise.all([publisher.connect(), subscriber.connect()]));
    const found = await examine(publisher, subscriber, { prefix, isWatched, signal });
    return [...found, ...(await judgeServer(publisher))];
  } catch (error) {
    reason ??= error;
    return [
      warning(
        `Redis can't be used: ${reason instanceof Error ? reason.message || reason.name : String(reason)}.`,
        'Nothing stops: servers listen to Postgres meanwhile, which is more work for it. Bring Redis back, or correct REDIS_URL.',
      ),
    ];
  } finally {
    signal?.removeEventListener('abort', disconnect);
    disconnect();
  }
}

async function examine(
  publisher: Redis,
  subscriber: Redis,
  { prefix, isWatched, signal }: Asked,
): Promise<Judgement[]> {
  if (prefix === undefined) {
    await withTimeout(answerMs, publisher.ping());
    return [ok('it answers')];
  }
  const channels = new Channels();
  channels.usePrefix(prefix);
  const relays = new Set<string>();
  let arrived = () => {};
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  subscriber.on('message', (channel, text) => {
    if (channel === channels.probe && text === 'doctor') arrived();
    if (channel === channels.alive) relays.add(text);
  });
  await withTimeout(answerMs, subscriber.subscribe(channels.probe, channels.alive));
  const sentAt = performance.now();
  await withTimeout(answerMs, publisher.publish(channels.probe, 'doctor'));
  await withTimeout(answerMs, arrival);
  const message = `a message arrives within ${span(performance.now() - sentAt)}`;
  if (!isWatched) return [ok(`${message}; no server is running that could pass any on`)];
  const giveUpAt = performance.now() + relayMs;
  while (relays.size === 0 && performance.now() < giveUpAt && signal?.aborted !== true) await delay(50);
  if (relays.size > 0) return [ok(`${message}, and servers pass notifications on`)];
  return [
    warning(
      `Redis works, but no server passes notifications on to it under ${prefix}: all of them listen to Postgres.`,
      'Give all servers this REDIS_URL, and the same JOBTREE_REDIS_PREFIX or none. Their logs say what fails.',
    ),
  ];
}

/** What its user may not ask stays unknown: jobtree needs none of it. */
async function judgeServer(redis: Redis): Promise<Judgement[]> {
  const info = await withTimeout(answerMs, redis.info()).catch(() => '');
  const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const found: Judgement[] = [];
  const version = value('redis_version');
  if (version !== undefined && version.localeCompare(oldestVersion, 'en', { numeric: true }) < 0)
    found.push(
      warning(`It is Redis ${version}: jobtree needs ${oldestVersion} or newer.`, 'Use a newer version.'),
    );
  const [used, limit] = [Number(value('used_memory')), Number(value('maxmemory'))];
  if (limit > 0 && used > limit * 0.9)
    found.push(
      warning(
        `It uses ${Math.round((used / limit) * 100)} % of its maxmemory (${value('maxmemory_policy')}): something else fills it, since jobtree keeps nothing there.`,
        'Raise maxmemory, or give jobtree a Redis of its own.',
      ),
    );
  const lost = Number(value('client_output_buffer_limit_disconnections'));
  if (lost > 0)
    found.push(
      warning(
        `Since its start, it has closed ${counted(lost, 'connection')} that read too slowly.`,
        'If these were jobtree servers, set client-output-buffer-limit pubsub 64mb 32mb 30.',
      ),
    );
  if (version === undefined) return found;
  return [
    ...found,
    ok(
      `Redis ${version}, maxmemory-policy ${value('maxmemory_policy') ?? 'unknown'}, which does not matter to jobtree`,
    ),
  ];
}
