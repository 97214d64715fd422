/** What the page of one tree says. It is apart from the others, which it does not need; how far a tree or a job is, the element says. */
import { languageOf, wordsIn } from '../../client/progress-words.ts';
import type { JobProgress, JobTreeProgress } from '../../client/types.ts';

const en = {
  states: {
    SUCCEEDED: 'Complete',
    PARTIAL: 'Complete, with failures',
    FAILED: 'Failed',
    CANCELLED: 'Cancelled',
    WAITING: 'Waiting',
    RUNNING: 'Running',
  } as Readonly<Record<string, string>>,
  heading: 'Progress',
  title: (type: string) => `Progress of ${type}`,
  live: 'Live',
  asOf: (time: string) => `As of ${time}`,
  jobs: 'Jobs',
  results: 'Results',
  showResults: 'Show results',
  newResults: 'Show newer results',
  more: 'Show more',
  noResults: 'There are no results yet.',
  download: 'Download all results',
  noDownload: (status: number) => `The results could not be downloaded: the server answered ${status}.`,
  loading: 'Loading…',
  ended: 'This link has expired or was revoked. Ask whoever gave it to you for a new one.',
  incomplete: 'This link is incomplete. Copy all of it into the address bar.',
  gone: 'There is nothing at this address: the tree was deleted.',
  validUntil: (time: string) => `This page is valid until ${time}.`,
};

const de: typeof en = {
  states: {
    SUCCEEDED: 'Fertig',
    PARTIAL: 'Fertig, mit Fehlschlägen',
    FAILED: 'Fehlgeschlagen',
    CANCELLED: 'Abgebrochen',
    WAITING: 'Wartet',
    RUNNING: 'Läuft',
  },
  heading: 'Fortschritt',
  title: (type) => `Fortschritt von ${type}`,
  live: 'Live',
  asOf: (time) => `Stand ${time}`,
  jobs: 'Jobs',
  results: 'Ergebnisse',
  showResults: 'Ergebnisse zeigen',
  newResults: 'Neuere Ergebnisse zeigen',
  more: 'Mehr zeigen',
  noResults: 'Es gibt noch keine Ergebnisse.',
  download: 'Alle Ergebnisse herunterladen',
  noDownload: (status) =>
    `Die Ergebnisse konnten nicht heruntergeladen werden: Der Server antwortete mit ${status}.`,
  loading: 'Wird geladen …',
  ended: 'Dieser Link ist abgelaufen oder wurde widerrufen. Bitten Sie um einen neuen.',
  incomplete: 'Dieser Link ist unvollständig. Kopieren Sie ihn ganz in die Adresszeile.',
  gone: 'Unter dieser Adresse ist nichts: Der Baum wurde gelöscht.',
  validUntil: (time) => `Diese Seite ist gültig bis ${time}.`,
};

/** In the reader's language. */
export function textsOfReader() {
  const locale = languageOf(navigator.languages);
  const { states, validUntil, ...texts } = locale.startsWith('de') ? de : en;
  const say = wordsIn(locale);
  const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
  const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' });
  return {
    ...texts,
    locale,
    clock: (time: number) => clock.format(time),
    validUntil: (time: number) => validUntil(moment.format(time)),
    state: ({ outcome, itemProgress }: Pick<JobTreeProgress, 'outcome' | 'itemProgress'>) =>
      states[outcome ?? (itemProgress > 0 ? 'RUNNING' : 'WAITING')] ?? '',
    job: (job: JobProgress) => `${states[job.outcome ?? job.status] ?? ''}: ${say(job)}`,
  };
}
