/** When schedules are due: crons across both changes of daylight saving, intervals, what was missed, and what can't be a time at all. */
import { Cron } from 'croner';
import { describe, expect, it, vi } from 'vitest';
import {
  checkTiming,
  dueOccurrences,
  maxMissed,
  type NewTiming,
  nextOccurrences,
  occurrencesWithin,
  type Timing,
} from '../../../src/domain/schedules/occurrences.ts';

const at = (text: string) => new Date(text);
const timing = (input: Partial<Timing>): Timing => ({
  cron: null,
  timeZone: input.cron == null ? null : 'UTC',
  everyMs: null,
  startAt: null,
  ...input,
});
const iso = (dates: readonly Date[]) => dates.map((date) => date.toISOString());

describe('a cron expression at a change of daylight saving time', () => {
  it.each<[string, string, string, string, string[]]>([
    [
      'a fixed time that does not exist comes right after the gap',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-27T12:00:00Z',
      ['2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'],
    ],
    [
      'a fixed time that comes twice counts the first time only',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-23T12:00:00Z',
      ['2026-10-24T00:30:00.000Z', '2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
    ],
    [
      'every half hour goes on in real time through the gap',
      '*/30 * * * *',
      'Europe/Berlin',
      '2026-03-29T00:00:00Z',
      ['2026-03-29T00:30:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-29T01:30:00.000Z'],
    ],
    [
      'every half hour goes on in real time through the repeated hour',
      '*/30 * * * *',
      'Europe/Berlin',
      '2026-10-25T00:00:00Z',
      ['2026-10-25T00:30:00.000Z', '2026-10-25T01:00:00.000Z', '2026-10-25T01:30:00.000Z'],
    ],
    [
      'a list of times in the gap is left out',
      '0 2,4 * * *',
      'Europe/Berlin',
      '2026-03-29T00:00:00Z',
      ['2026-03-29T02:00:00.000Z', '2026-03-30T00:00:00.000Z'],
    ],
    [
      'a list of times in the repeated hour comes twice',
      '0 2,4 * * *',
      'Europe/Berlin',
      '2026-10-24T23:30:00Z',
      ['2026-10-25T00:00:00.000Z', '2026-10-25T01:00:00.000Z', '2026-10-25T03:00:00.000Z'],
    ],
    [
      'a fixed time that does not exist comes right after the gap',
      '30 2 * * *',
      'America/New_York',
      '2026-03-06T12:00:00Z',
      ['2026-03-07T07:30:00.000Z', '2026-03-08T07:00:00.000Z', '2026-03-09T06:30:00.000Z'],
    ],
    [
      'a fixed time that comes twice counts the first time only',
      '30 1 * * *',
      'America/New_York',
      '2026-10-30T12:00:00Z',
      ['2026-10-31T05:30:00.000Z', '2026-11-01T05:30:00.000Z', '2026-11-02T06:30:00.000Z'],
    ],
    [
      'every half hour goes on in real time through the repeated hour',
      '*/30 * * * *',
      'America/New_York',
      '2026-11-01T05:00:00Z',
      ['2026-11-01T05:30:00.000Z', '2026-11-01T06:00:00.000Z', '2026-11-01T06:30:00.000Z'],
    ],
    [
      'every half hour goes on in real time through the gap',
      '*/30 * * * *',
      'America/New_York',
      '2026-03-08T06:00:00Z',
      ['2026-03-08T06:30:00.000Z', '2026-03-08T07:00:00.000Z', '2026-03-08T07:30:00.000Z'],
    ],
  ])('%s: %s in %s', (_, cron, timeZone, after, expected) => {
    const found = nextOccurrences(timing({ cron, timeZone }), at(after), expected.length);
    expect(iso(found)).toEqual(expected);
  });

  it.each([
    ['Europe/Berlin', '2026-03-28T00:00:00Z'],
    ['Europe/Berlin', '2026-10-24T00:00:00Z'],
    ['America/New_York', '2026-03-07T00:00:00Z'],
    ['America/New_York', '2026-10-31T00:00:00Z'],
  ])('skips and repeats no occurrence, in either direction, in %s from %s on', (timeZone, from) => {
    const start = at(from);
    const quarters = timing({ cron: '*/15 * * * *', timeZone });
    const found = nextOccurrences(quarters, start, 2 * 96);
    expect(found.every((date, i) => date.getTime() === start.getTime() + (i + 1) * 900_000)).toBe(true);
    // As after an outage.
    const missed = dueOccurrences(quarters, 'RUN_ALL', found[0] as Date, found.at(-1) as Date);
    expect(iso(missed.make)).toEqual(iso(found));
  });
});

describe('an interval', () => {
  it('falls on multiples since 1970, whenever it is computed', () => {
    const everyTen = timing({ everyMs: 600_000 });
    const expected = ['2026-01-01T00:10:00.000Z', '2026-01-01T00:20:00.000Z'];
    expect(iso(nextOccurrences(everyTen, at('2026-01-01T00:00:00Z'), 2))).toEqual(expected);
    expect(iso(nextOccurrences(everyTen, at('2026-01-01T00:09:59.999Z'), 2))).toEqual(expected);
  });

  it('counts from its start, which is the first occurrence', () => {
    const timed = timing({ everyMs: 60_000, startAt: at('2026-01-01T00:00:30.500Z') });
    expect(iso(nextOccurrences(timed, at('2020-01-01T00:00:00Z'), 2))).toEqual([
      '2026-01-01T00:00:30.500Z',
      '2026-01-01T00:01:30.500Z',
    ]);
    expect(iso(nextOccurrences(timed, at('2026-01-01T00:00:30.500Z'), 1))).toEqual([
      '2026-01-01T00:01:30.500Z',
    ]);
  });
});

it('a cron expression with a start can have its first occurrence then', () => {
  const daily = timing({ cron: '0 3 * * *', startAt: at('2026-05-01T03:00:00Z') });
  expect(iso(nextOccurrences(daily, at('2026-01-01T00:00:00Z'), 2))).toEqual([
    '2026-05-01T03:00:00.000Z',
    '2026-05-02T03:00:00.000Z',
  ]);
});

describe('the occurrences of a range', () => {
  const daily = timing({ cron: '30 2 * * *', timeZone: 'Europe/Berlin' });
  const next = { at: at('2026-03-28T01:30:00Z'), isPaused: false };
  const within = (from: string | null, until: string | null, first = 100, start = next, of = daily) =>
    iso(
      occurrencesWithin(of, start, {
        from: from === null ? null : at(from),
        until: until === null ? null : at(until),
        first,
      }),
    );

  it('are those of the zone of the schedule, through a change of its clocks', () => {
    expect(within('2026-03-20T00:00:00Z', '2026-03-31T00:30:00Z')).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
  });

  it('begin with the start of the range, and end before its end', () => {
    const range = ['2026-04-01T00:30:00Z', '2026-04-03T00:30:00Z'] as const;
    expect(within(...range)).toEqual(['2026-04-01T00:30:00.000Z', '2026-04-02T00:30:00.000Z']);
    expect(within(...range, 1)).toEqual(['2026-04-01T00:30:00.000Z']);
    expect(within(...range, 0)).toEqual([]);
    expect(within('2026-03-01T00:00:00Z', '2026-03-28T01:30:00Z')).toEqual([]);
    expect(within(range[1], range[0])).toEqual([]);
  });

  it('of a paused schedule are those after the time at which it would be resumed', () => {
    const paused = { at: at('2026-03-29T12:00:00Z'), isPaused: true };
    expect(within('2026-03-20T00:00:00Z', '2026-03-31T00:00:00Z', 100, paused)).toEqual([
      '2026-03-30T00:30:00.000Z',
    ]);
  });

  it('are none beyond the next one, if the times can no longer be calculated', () => {
    const lost = timing({ cron: '30 2 * * *', timeZone: 'Mars/Olympus' });
    expect(within(null, null, 5, next, lost)).toEqual(['2026-03-28T01:30:00.000Z']);
    expect(within(null, null, 5, { ...next, isPaused: true }, lost)).toEqual([]);
  });
});

describe('due occurrences', () => {
  const now = at('2026-01-01T12:00:00Z');
  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000);
  describe.each<[string, Timing]>([
    ['by a cron', timing({ cron: '* * * * * *' })],
    ['by an interval', timing({ everyMs: 1_000 })],
  ])('%s', (_, everySecond) => {
    it.each(['SKIP', 'RUN_ONCE', 'RUN_ALL'] as const)(
      'are all made while only a little late, with %s',
      (missed) => {
        const { make, next } = dueOccurrences(everySecond, missed, ago(3), now);
        expect(iso(make)).toEqual(iso([ago(3), ago(2), ago(1), ago(0)]));
        expect(next).toEqual(ago(-1));
      },
    );

    it('are missed after half a minute, and handled by the policy', () => {
      const everyMinute = timing({ everyMs: 60_000 });
      const late = ago(240);
      const all = nextOccurrences(everyMinute, new Date(late.getTime() - 1), 5);
      const at31 = new Date((all.at(-1) as Date).getTime() + 31_000);
      expect(dueOccurrences(everyMinute, 'SKIP', late, at31).make).toEqual([]);
      expect(dueOccurrences(everyMinute, 'RUN_ONCE', late, at31).make).toEqual(all.slice(-1));
      expect(dueOccurrences(everyMinute, 'RUN_ALL', late, at31).make).toEqual(all);
    });

    it('are made whatever the policy, though earlier ones were missed', () => {
      const recent = Array.from({ length: 31 }, (_, i) => ago(30 - i));
      const next = ago(-1);
      expect(dueOccurrences(everySecond, 'SKIP', ago(50), now)).toEqual({ make: recent, next });
      expect(dueOccurrences(everySecond, 'RUN_ONCE', ago(50), now)).toEqual({
        make: [ago(31), ...recent],
        next,
      });
      expect(dueOccurrences(everySecond, 'RUN_ALL', ago(50), now).make).toHaveLength(51);
    });

    it('are bounded after a long outage, to the latest', () => {
      const { make, next } = dueOccurrences(everySecond, 'RUN_ALL', at('2025-01-01T00:00:00Z'), now);
      expect([make.length, make[0], make.at(-1), next]).toEqual([
        maxMissed + 31,
        ago(maxMissed + 30),
        now,
        ago(-1),
      ]);
    });
  });

  it('of a few that were missed are found without going back further', () => {
    const goBack = vi.spyOn(Cron.prototype, 'previousRuns');
    const daily = timing({ cron: '0 3 * * *' });
    const { make } = dueOccurrences(daily, 'RUN_ALL', at('2025-12-31T03:00:00Z'), now);
    expect(iso(make)).toEqual(['2025-12-31T03:00:00.000Z', '2026-01-01T03:00:00.000Z']);
    const found = goBack.mock.results.flatMap(({ value }) => value as Date[]);
    goBack.mockRestore();
    expect(found).toHaveLength(3);
  });

  it('include the promised one, even if the times are interpreted differently now', () => {
    const daily = timing({ cron: '0 3 * * *' });
    expect(dueOccurrences(daily, 'RUN_ONCE', at('2026-01-01T11:00:00Z'), now).make).toEqual([
      at('2026-01-01T11:00:00Z'),
    ]);
  });
});

describe('refuses as an expression', () => {
  it.each<[string, NewTiming, string, RegExp]>([
    ['an interval of zero', { everyMs: 0 }, 'times.everyMs', /everyMs is 0/],
    ['an interval of less than a second', { everyMs: 999 }, 'times.everyMs', /whole number from 1000/],
    ['an interval beyond a leap year', { everyMs: 31_622_400_001 }, 'times.everyMs', /31622400000/],
    ['a fraction of a millisecond', { everyMs: 1_000.5 }, 'times.everyMs', /whole number/],
    ['an empty cron', { cron: '' }, 'times.cron.expression', /is empty/],
    ['a cron of four fields', { cron: '* * * *' }, 'times.cron.expression', /five fields/],
    ['a cron with years', { cron: '* * * * * * 2030' }, 'times.cron.expression', /five fields/],
    ['an instant', { cron: '2030-01-01T00:00:00' }, 'times.cron.expression', /five fields/],
    ['a minute of 60', { cron: '60 * * * *' }, 'times.cron.expression', /Invalid value for minute: 60/],
    ['a word', { cron: 'every day at 3 am' }, 'times.cron.expression', /can't be read/],
    ['an unknown nickname', { cron: '@sometimes' }, 'times.cron.expression', /can't be read/],
    ['the start of the computer', { cron: '@reboot' }, 'times.cron.expression', /can't be read/],
    ['a step of zero', { cron: '*/0 * * * *' }, 'times.cron.expression', /can't be read/],
    ['February 30', { cron: '0 0 30 2 *' }, 'times.cron.expression', /never occurs/],
    ['April 31', { cron: '0 0 31 4 *' }, 'times.cron.expression', /never occurs/],
    [
      'a cron that is too long',
      { cron: `${'1,'.repeat(100)}1 * * * *` },
      'times.cron.expression',
      /the limit is 200/,
    ],
    [
      'an unknown zone',
      { cron: '* * * * *', timeZone: 'Europe/Atlantis' },
      'times.cron.timeZone',
      /not known/,
    ],
    ['an offset', { cron: '* * * * *', timeZone: '+02:00' }, 'times.cron.timeZone', /not known/],
    ['an empty zone', { cron: '* * * * *', timeZone: '' }, 'times.cron.timeZone', /is empty/],
    [
      'a start that is no instant',
      { everyMs: 1_000, startAt: new Date(Number.NaN) },
      'startAt',
      /must be an instant/,
    ],
    [
      'a start with nothing behind it',
      { cron: '0 0 1 1 *', startAt: at('9999-12-31T00:00:00Z') },
      'times.cron.expression',
      /never occurs/,
    ],
  ])('%s', (_, input, field, message) => {
    const check = () => checkTiming(input, '', at('2026-01-01T00:00:00Z'));
    expect(check).toThrow(message);
    expect(check).toThrow(expect.objectContaining({ code: 'INVALID_INPUT', field }));
  });

  it('none of the expressions that croner documents', () => {
    for (const cron of [
      '@daily',
      '0 0 L * *',
      '0 12 * * FRI#2',
      '0 0 29 2 *',
      '0 9 15W * *',
      '*/5 * * * * *',
      ' 0  3 * * * ',
    ]) {
      expect(() => checkTiming({ cron }, '', at('2026-01-01T00:00:00Z'))).not.toThrow();
    }
  });
});
