/** Creates jobs as callers do that give up after a while and ask again: the load does not depend on the answers. */
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { readTask, serve } from '../child.ts';
import type { ImpatientTask } from '../task.ts';

const { url, items, limitMs } = readTask<ImpatientTask>();
const agent = new Agent({ keepAlive: true });
const query =
  'mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { created } } }';
const input = { type: 'overload', items: Array.from({ length: items }, (_, n) => ({ payload: { n } })) };
const body = JSON.stringify({ query, variables: { input } });
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };

/** Whether the job was created within the time limit. */
function call(): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('close', () => {
        clearTimeout(timer);
        resolve(text.includes('"created":true'));
      });
    });
    const timer = setTimeout(() => sent.destroy(), limitMs);
    sent.once('error', () => {
      clearTimeout(timer);
      resolve(false);
    });
    sent.end(body);
  });
}

/** A call and its repeat, if that is needed. Counts in the second of its answer. */
async function persist(done: () => void): Promise<void> {
  for (let left = 2; left > 0; left--) if (await call()) return done();
}

const methods = {
  /** So many callers ask again as soon as they have their answer: how many jobs a second they get. */
  closed: async (callers: number, seconds: number): Promise<number> => {
    const until = performance.now() + seconds * 1_000;
    let created = 0;
    await Promise.all(
      Array.from({ length: callers }, async () => {
        while (performance.now() < until) if (await call()) created++;
      }),
    );
    return created / seconds;
  },

  /** So many new calls a second: how many jobs were created in each second. */
  open: async (rate: number, seconds: number): Promise<number[]> => {
    const created = Array.from({ length: seconds }, () => 0);
    const from = performance.now();
    let begun = 0;
    for (let ms = 0; ms < seconds * 1_000; ms = performance.now() - from) {
      for (; begun < (rate * ms) / 1_000; begun++)
        void persist(() => {
          const second = Math.floor((performance.now() - from) / 1_000);
          if (second < seconds) created[second] = (created[second] ?? 0) + 1;
        });
      await delay(5);
    }
    return created;
  },
};

export type ImpatientMethods = typeof methods;

serve(methods);
