/** How wide text is on a terminal: most Chinese, Japanese and Korean characters and emoji take two columns, combining marks none. */
import stringWidth from 'string-width';

const graphemes = new Intl.Segmenter();
/** No terminal is as wide, so what is longer need not be measured character by character. */
const longest = 2_000;
/** A character of a column may take so many units of a string: a family of four is an emoji of eleven. */
const unitsPerColumn = 16;

export function widthOf(text: string): number {
  return text.length > longest ? text.length : stringWidth(text);
}

/** Fills up to the width, behind the text. */
export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** The beginning and, from the middle, also the end. */
export function shorten(text: string, width: number, where: 'middle' | 'end'): string {
  if (widthOf(text) <= width) return text;
  const kept = Math.max(0, width - 1);
  const after = where === 'end' ? 0 : Math.floor(kept / 2);
  const before = take(charactersOf(text.slice(0, width * unitsPerColumn)), kept - after);
  const end = after === 0 ? [] : take(charactersOf(text.slice(-width * unitsPerColumn)).reverse(), after);
  // A text that was shortened before has its mark already.
  return `${before.join('').replace(/…+$/, '')}…${end.reverse().join('')}`;
}

/** Whole ones, as people see them. */
function charactersOf(text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

/** As many as fit. */
function take(characters: readonly string[], width: number): string[] {
  let used = 0;
  const end = characters.findIndex((one) => {
    used += widthOf(one);
    return used > width;
  });
  return characters.slice(0, end === -1 ? characters.length : end);
}

/**
 * Breaks a text at blanks, but not within `…`, which is there to be copied. `hang`: what each line but the first begins with. A word that is too long keeps its
 * line to itself.
 */
export function wrap(text: string, width: number, hang = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.match(/ *(?:`[^`\n]*`|[^ ])+/g) ?? []) {
    if (line.trim() !== '' && widthOf(line) + widthOf(word) > width) {
      lines.push(line);
      line = hang + word.trimStart();
    } else line += word;
  }
  return [...lines, line].join('\n');
}

/** On a terminal, lines that are broken between words; elsewhere the text as it is. `hang`: as for `wrap`. */
export function fitted(text: string, stream: NodeJS.WriteStream, hang = ''): string {
  if (!stream.isTTY) return text;
  const width = stream.columns || 80;
  return text
    .split('\n')
    .map((line) => wrap(line, width, /^ */.exec(line)?.[0] + hang))
    .join('\n');
}
