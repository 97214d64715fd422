/** Days as the language of the page writes them, and times in the zones of others. */
import { formatCount, localeOf } from './formats.ts';

export const readerZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

interface WeekInfo {
  readonly firstDay: number;
}

/** From Monday as 1 to Sunday as 7; not every browser knows it. */
function firstWeekdayIn(locale: string): number {
  const known = new Intl.Locale(locale) as Intl.Locale & {
    getWeekInfo?: () => WeekInfo;
    readonly weekInfo?: WeekInfo;
  };
  return (known.getWeekInfo?.() ?? known.weekInfo)?.firstDay ?? 1;
}

export function formatsIn(language: string) {
  const locale = localeOf(language);
  const days = new Intl.DateTimeFormat(locale, { weekday: 'short', day: 'numeric' });
  const months = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric' });
  const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
  const clocks = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
  return {
    firstWeekday: firstWeekdayIn(locale),
    day: (time: Date) => days.format(time),
    month: (time: Date) => months.format(time),
    dates: (from: Date, to: Date) => dates.formatRange(from, to),
    clock: (at: string) => clocks.format(new Date(at)),
    count: formatCount,
    /** As UTC, if the browser does not know the zone. */
    inZone(at: string, timeZone: string): string {
      try {
        return new Date(at).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'medium', timeZone });
      } catch {
        return at;
      }
    },
  };
}
