/** Every text, for what is loaded after the first view. */
import { en, type Texts } from './en.ts';
import { enFirst } from './en-first.ts';
import { useTexts as useFirstTexts } from './texts.ts';

export * from './texts.ts';
export type { Texts };

export function useTexts(): Texts {
  const texts = useFirstTexts();
  // Any other language is loaded as a whole.
  return texts === enFirst ? en : (texts as Texts);
}
