/** Measured and computed times have many digits, which nobody reads. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const src = resolve(import.meta.dirname, '../../src');
/** Settings and stored figures, which are whole numbers, and what was rounded before. */
const whole = [
  'retryAfter',
  'tookMs',
  'limitMs / 1_000',
  'seconds',
  'timeoutMs in server/loops/callback-request.ts',
];

it('messages say times in round numbers', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith('generated/'),
  );
  const found = files.flatMap((file) =>
    [...readFileSync(join(src, file), 'utf8').matchAll(/\$\{([^{}]*)\} (?:ms|s|seconds|milliseconds)\b/g)]
      .map(([, value = '']) => value)
      .filter(
        (value) =>
          !/Math\.round|toFixed/.test(value) &&
          !whole.includes(value) &&
          !whole.includes(`${value} in ${file}`),
      )
      .map((value) => `${file}: ${value}`),
  );
  expect(found).toEqual([]);
});
