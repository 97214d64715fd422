/** The alerts of deploy/, each over series that let it fire and over some that just don't; and one of them over a server where nobody takes the work. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { rulesFile, withoutPrometheus } from '../support/prometheus.ts';

interface Case {
  /** Samples a minute apart, in promtool's notation: `5+1x10` counts up from 5, ten times. */
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** What the alert says if it fires; it does not without. */
  readonly fires?: { readonly labels: Readonly<Record<string, string>>; readonly summary: string };
}

const type = 'type="parse"';
const instance = 'instance="a:4000"';
const critical = { severity: 'critical', instance: 'a:4000' };
const warning = { severity: 'warning', type: 'parse' };

/** Of each alert: what fires, and near misses. */
const cases: Readonly<Record<string, Readonly<Record<string, Case>>>> = {
  JobtreeDown: {
    'a server that does not answer for two minutes': {
      series: { [`up{job="jobtree", ${instance}}`]: '1 0 0 0' },
      at: '3m',
      fires: { labels: { ...critical, job: 'jobtree' }, summary: 'a:4000 does not answer.' },
    },
    'one that is restarted': { series: { [`up{job="jobtree", ${instance}}`]: '1 0 0 1' }, at: '3m' },
    'another job': { series: { [`up{job="node", ${instance}}`]: '0x5' }, at: '5m' },
  },
  JobtreeDatabaseDown: {
    'a server without its database for two minutes': {
      series: { [`jobtree_database_up{${instance}}`]: '1 0 0 0' },
      at: '3m',
      fires: { labels: critical, summary: "a:4000 can't read from Postgres." },
    },
    'one that has it back': { series: { [`jobtree_database_up{${instance}}`]: '1 0 0 1' }, at: '3m' },
  },
  JobtreeItemsWaitLong: {
    'items that wait for more than five minutes, five minutes long': {
      series: { [`jobtree_oldest_ready_seconds{${type}, ${instance}}`]: '301+60x6' },
      at: '5m',
      fires: {
        labels: warning,
        summary: 'parse has been ready for 10m 1s: there are too few workers, or none.',
      },
    },
    'items that wait for just five minutes': {
      series: { [`jobtree_oldest_ready_seconds{${type}, ${instance}}`]: '300x9' },
      at: '9m',
    },
    'items of a type that is paused': {
      series: {
        [`jobtree_oldest_ready_seconds{${type}, ${instance}}`]: '301+60x9',
        [`jobtree_queue_paused{${type}, ${instance}}`]: '1x9',
      },
      at: '9m',
    },
  },
  JobtreeItemsNotClaimed: {
    'ready items of which no worker has any, on either server': {
      series: {
        [`jobtree_items_ready{${type}, ${instance}}`]: '7x11',
        [`jobtree_items_ready{${type}, instance="b:4000"}`]: '7x11',
        [`jobtree_items_running{${type}, ${instance}}`]: '0x11',
      },
      at: '10m',
      fires: {
        labels: { ...warning, severity: 'critical' },
        summary: '7 items of parse are ready, and no worker has any.',
      },
    },
    'some that a worker has, in between': {
      series: {
        [`jobtree_items_ready{${type}, ${instance}}`]: '7x11',
        [`jobtree_items_running{${type}, ${instance}}`]: '0 0 0 0 0 1 0 0 0 0 0 0',
      },
      at: '10m',
    },
    'items of a type that is paused': {
      series: {
        [`jobtree_items_ready{${type}, ${instance}}`]: '7x11',
        [`jobtree_items_running{${type}, ${instance}}`]: '0x11',
        [`jobtree_queue_paused{${type}, ${instance}}`]: '1x11',
      },
      at: '10m',
    },
  },
  JobtreeItemsSlow: {
    'slow items for five minutes': {
      series: { [`jobtree_items_slow{${type}, ${instance}}`]: '2x6' },
      at: '5m',
      fires: { labels: warning, summary: '2 items of parse take far longer than usual.' },
    },
    'slow items that end': {
      series: { [`jobtree_items_slow{${type}, ${instance}}`]: '2 2 2 2 0 2' },
      at: '5m',
    },
  },
  JobtreeItemsDie: {
    'more than a twentieth of what ends': {
      series: {
        [`jobtree_items_dead_total{${type}, ${instance}}`]: '0+3x10',
        [`jobtree_items_dead_total{${type}, instance="b:4000"}`]: '0+3x10',
        [`jobtree_items_succeeded_total{${type}, ${instance}}`]: '0+100x10',
      },
      at: '10m',
      fires: { labels: warning, summary: '60 items of parse have failed for good within ten minutes.' },
    },
    'a twentieth of what ends': {
      series: {
        [`jobtree_items_dead_total{${type}, ${instance}}`]: '0+5x10',
        [`jobtree_items_succeeded_total{${type}, ${instance}}`]: '0+95x10',
      },
      at: '10m',
    },
    'all that ends, but just five items': {
      series: {
        [`jobtree_items_dead_total{${type}, ${instance}}`]: '0 1 2 3 4 5 5 5 5 5 5',
        [`jobtree_items_succeeded_total{${type}, ${instance}}`]: '0x10',
      },
      at: '10m',
    },
  },
  JobtreeHeartbeatsLost: {
    'more than ten within ten minutes, over all servers': {
      series: {
        [`jobtree_heartbeats_lost_total{${type}, ${instance}}`]: '0+1x10',
        [`jobtree_heartbeats_lost_total{${type}, instance="b:4000"}`]: '0+1x10',
      },
      at: '10m',
      fires: {
        labels: warning,
        summary: 'Workers of parse crash or hang: 20 heartbeats were lost within ten minutes.',
      },
    },
    'ten within ten minutes': {
      series: { [`jobtree_heartbeats_lost_total{${type}, ${instance}}`]: '0+1x10' },
      at: '10m',
    },
  },
};

describe.skipIf(withoutPrometheus)('the alerts', () => {
  it('have a firing case and near misses each', () => {
    const names = [...readFileSync(rulesFile, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    expect(Object.keys(cases)).toEqual(names);
    for (const of of Object.values(cases))
      expect(new Set(Object.values(of).map(({ fires }) => fires !== undefined))).toEqual(
        new Set([true, false]),
      );
  });

  const all = Object.entries(cases).flatMap(([alert, of]) =>
    Object.entries(of).map(([title, given]) => [alert, title, given] as const),
  );
  it.each(all)('%s: %s', (alert, _, { series, at, fires }) => {
    const folder = mkdtempSync(join(tmpdir(), 'jobtree-alerts-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const expected = fires && [{ exp_labels: fires.labels, exp_annotations: { summary: fires.summary } }];
    const test = {
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts: expected ?? [] }],
    };
    // JSON is YAML, too.
    const file = join(folder, 'test.yml');
    writeFileSync(
      file,
      JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests: [test] }),
    );
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
    expect({ status, output: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
  });
});
