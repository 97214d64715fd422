/** The wall clock may be set while the server runs: nothing is measured with it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const src = resolve(import.meta.dirname, '../../src');
/** Ids of claims begin with the time, people say on the command line how long ago something was, lines of an item's log say when they were written, the doctor compares clocks, the dashboard and the element say since when they have not been live, a calendar marks today, and tokens, rights and certificates say by it when they are over. */
const allowed = [
  'client/claim-id.ts',
  'client/shared-watches.ts',
  'client/worker/item-notes.ts',
  'cli/figures.ts',
  'dashboard/data/calendar.ts',
  'dashboard/data/live.ts',
  'dashboard/watch/main.ts',
  'doctor/server.ts',
  'server/rights/known-tokens.ts',
  'server/rights/admission.ts',
  'server/http/certificate.ts',
];

it('durations are measured with the monotonic clock', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.tsx?$/.test(file) && !file.startsWith('generated/') && !allowed.includes(file),
  );
  const found = files.filter((file) =>
    /Date\.now\(|new Date\(\)/.test(readFileSync(join(src, file), 'utf8')),
  );
  expect(found).toEqual([]);
});
