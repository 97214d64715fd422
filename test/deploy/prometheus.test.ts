/** A server under load, scraped by Prometheus with the configuration and the rules of deploy/, and what the dashboard asks for. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { PermanentError, Worker } from '../../src/client/index.ts';
import { type Prometheus, rulesFile, startPrometheus, withoutPrometheus } from '../support/prometheus.ts';
import { useServer } from '../support/use-server.ts';

const dashboard = JSON.parse(
  readFileSync(new URL('../../deploy/grafana/jobtree.json', import.meta.url), 'utf8'),
) as { panels: { title: string; targets: { expr: string }[] }[] };

describe.skipIf(withoutPrometheus)('Prometheus', () => {
  const { app, client } = useServer();
  let worker: Worker;
  let prometheus: Prometheus;

  beforeAll(async () => {
    const handler = (payload: unknown) => {
      if (payload === 'bad') throw new PermanentError('no');
      return null;
    };
    worker = new Worker({ url: app.url, types: { parse: { concurrency: 20, handler } } });
    await worker.start();
    prometheus = await startPrometheus(app.url);
  });
  afterAll(async () => {
    await prometheus?.stop();
    await worker?.stop();
  });

  const add = () =>
    client.createJob({
      type: 'parse',
      items: Array.from({ length: 50 }, (_, i) => ({ payload: i % 5 === 0 ? 'bad' : i })),
    });
  const firing = async (of = prometheus) => {
    const { alerts } = await of.ask('alerts');
    return alerts
      .filter(({ state }: { state: string }) => state === 'firing')
      .map(({ labels }: any) => `${labels.alertname} ${labels.type}`);
  };

  it('loads the rules, and one of them fires when many items fail for good', async () => {
    const { status, stdout } = spawnSync('promtool', ['check', 'rules', rulesFile], { encoding: 'utf8' });
    expect({ status, stdout }).toMatchObject({ status: 0 });
    const { groups } = await prometheus.ask('rules');
    expect(groups[0].rules.length).toBe(readFileSync(rulesFile, 'utf8').match(/- alert:/g)?.length);
    expect(await firing()).toEqual([]);
    await expect
      .poll(async () => {
        await add();
        return firing();
      })
      .toEqual(['JobtreeItemsDie parse']);
    // It looks five times a second, and gives up as soon as it would look again: a busy machine may be late once.
    await expect
      .poll(async () => (await prometheus.ask('targets')).activeTargets)
      .toMatchObject([{ health: 'up', lastError: '' }]);
    const { groups: evaluated } = await prometheus.ask('rules');
    for (const { health, name } of evaluated[0].rules)
      expect({ name, health }).toEqual({ name, health: 'ok' });
  });

  it('finds nothing wrong with the metrics', async () => {
    const input = await (await fetch(new URL('/metrics', app.url))).text();
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input,
      encoding: 'utf8',
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('can answer every query of the dashboard and the rules', async () => {
    const known = new Set<string>(await prometheus.ask('label/__name__/values'));
    const named = (text: string) => text.match(/\b(?:jobtree|process|nodejs)_[a-z0-9_]+/g) ?? [];
    for (const name of named(readFileSync(rulesFile, 'utf8'))) expect(known).toContain(name);
    for (const { title, targets } of dashboard.panels) {
      for (const { expr } of targets) {
        for (const name of named(expr)) expect(known).toContain(name);
        const query = expr
          .replaceAll('$type', '.*')
          .replaceAll('$job', 'jobtree')
          .replaceAll('$__rate_interval', '1m');
        const ask = async () => (await prometheus.ask(`query?query=${encodeURIComponent(query)}`)).result;
        // A rate needs two scrapes, which a busy machine may not have had yet.
        if (!title.startsWith('Running and slow') && !title.startsWith('Lost'))
          await expect.poll(ask, { message: title }).not.toEqual([]);
        else await ask();
      }
    }
  });

  it('reports that nobody claims the items of one type while others are processed', async () => {
    const impatient = await startPrometheus(app.url, '1s');
    onTestFinished(() => impatient.stop());
    await client.createJob({ type: 'forgotten', items: [{ payload: 1 }, { payload: 2 }] });
    await expect
      .poll(async () => {
        await add();
        return firing(impatient);
      })
      .toContain('JobtreeItemsNotClaimed forgotten');
  });
});
