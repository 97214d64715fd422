/** The language of the page: what the reader has chosen, or else the first of their browser in which there are texts. */
import { useSyncExternalStore } from 'react';
import { enFirst, type FirstTexts } from './en-first.ts';
import { setFormats } from './formats.ts';
import { isolated } from './isolated.ts';

/** By its code, with its own name for itself. */
export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

const chosenKey = 'jobtree-language';
const loaders: Readonly<Record<Language, () => Promise<FirstTexts>>> = {
  en: async () => enFirst,
  de: async () => (await import('./de.ts')).de,
};
const isLanguage = (name: string): name is Language => name in languages;
const listeners = new Set<() => void>();
let texts: FirstTexts = isolated(enFirst);

export const useTexts = () =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => texts,
  );

/** Shows the page in this language, and in the next visits, too. */
export function chooseLanguage(language: Language): Promise<void> {
  localStorage.setItem(chosenKey, language);
  return load(language);
}

/** Called before anything is shown. */
export function loadLanguage(): Promise<void> {
  const preferred = navigator.languages.map((one) => one.split('-', 1)[0] ?? '');
  return load([localStorage.getItem(chosenKey) ?? '', ...preferred].find(isLanguage) ?? 'en');
}

async function load(language: Language): Promise<void> {
  // What can't be loaded leaves the page as it is.
  texts = await loaders[language]().then(isolated, () => texts);
  setFormats(texts.language);
  document.documentElement.lang = texts.language;
  for (const listener of listeners) listener();
}
