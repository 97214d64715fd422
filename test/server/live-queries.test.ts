/** `live`: the answer of any query, again whenever it differs. */
import { expect, it } from 'vitest';
import { codesOf, errorsOverEvents } from '../support/answers.ts';
import { createJob, data, subscribe } from '../support/api.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();

const readyOf = (type: string) => `subscription { live { queue(type: "${type}") { ready paused } } }`;

it('gives the answer, and the next one when it differs, also by what no tree tells of', async () => {
  const watch = subscribe(app.url, readyOf('changing'));
  const events = watch[Symbol.asyncIterator]();
  const next = async () => (await events.next()).value.data.live.queue;
  expect(await next()).toEqual({ ready: 0, paused: false });
  await createJob(app.url, { type: 'changing', items: [{}] });
  expect(await next()).toEqual({ ready: 1, paused: false });
  await data(app.url, 'mutation { setQueue(input: { type: "changing", paused: true }) { __typename } }');
  expect(await next()).toEqual({ ready: 1, paused: true });
  await watch.close();
});

it('one that joins others gets an answer that is asked for after it came', async () => {
  const early = subscribe(app.url, readyOf('joined'));
  const first = await early[Symbol.asyncIterator]().next();
  expect(first.value.data.live.queue.ready).toBe(0);
  await createJob(app.url, { type: 'joined', items: [{}, {}] });
  const late = subscribe(app.url, readyOf('joined'));
  const joined = await late[Symbol.asyncIterator]().next();
  expect(joined.value.data.live.queue.ready).toBe(2);
  await Promise.all([early.close(), late.close()]);
});

it('each field needs its own permission', async () => {
  const closed = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  const { key } = await makeKey(db, ['worker']);
  const errors = await errorsOverEvents(closed.url, readyOf('refused'), bearer(key));
  expect(codesOf(errors)).toEqual(['FORBIDDEN']);
  await closed.close();
});

it('an interval below a second is refused', async () => {
  const errors = await errorsOverEvents(
    app.url,
    'subscription { live(intervalMs: 999) { queue(type: "x") { ready } } }',
    {},
  );
  expect(codesOf(errors)).toEqual(['INVALID_INPUT']);
});
