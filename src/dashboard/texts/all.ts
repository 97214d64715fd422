/** Every text, for what is loaded after the first view. */
import { en, type Texts } from './en.ts';
import { isolated } from './isolated.ts';
import { useTexts as useFirstTexts } from './texts.ts';

export * from './texts.ts';
export type { Texts };

const english = isolated(en);

export function useTexts(): Texts {
  const texts = useFirstTexts();
  // Any other language is loaded as a whole.
  return texts.language === english.language ? english : (texts as Texts);
}
