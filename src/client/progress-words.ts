/** How far a tree or a job is, in words of the reader's language. */
import type { JobProgress } from './types.ts';

type Counts = Pick<JobProgress, 'itemCount' | 'itemProgress' | 'failed' | 'cancelled' | 'percent'>;

const languages = {
  en: {
    label: 'Progress',
    of: (done: string, count: string, isOne: boolean) => `${done} of ${count} ${isOne ? 'item' : 'items'}`,
    open: 'more may come',
    percent: (percent: string) => `${percent}%`,
    failed: (count: string) => `${count} failed`,
    cancelled: (count: string) => `${count} cancelled`,
  },
  de: {
    label: 'Fortschritt',
    of: (done: string, count: string, isOne: boolean) =>
      `${done} von ${count} ${isOne ? 'Element' : 'Elementen'}`,
    open: 'weitere können folgen',
    percent: (percent: string) => `${percent} %`,
    failed: (count: string) => `${count} fehlgeschlagen`,
    cancelled: (count: string) => `${count} abgebrochen`,
  },
};

const known = (locale: string) => locale.split('-', 1)[0]?.toLowerCase() as keyof typeof languages;

/** The first of these in which there are words: `de-AT`. English if there is none. */
export const languageOf = (locales: readonly string[]) =>
  locales.find((locale) => Object.hasOwn(languages, known(locale))) ?? 'en';

export const labelIn = (locale: string) => languages[known(locale)].label;

export function wordsIn(locale: string): (counts: Counts) => string {
  const words = languages[known(locale)];
  const number = new Intl.NumberFormat(locale);
  const say = (count: number) => number.format(count);
  return ({ itemCount, itemProgress, percent, failed, cancelled }) =>
    [
      words.of(say(itemProgress), say(itemCount), itemCount === 1),
      percent == null ? words.open : words.percent(say(percent)),
      ...(failed > 0 ? [words.failed(say(failed))] : []),
      ...(cancelled > 0 ? [words.cancelled(say(cancelled))] : []),
    ].join(', ');
}
