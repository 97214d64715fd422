/** All but ends of lines and tabs. */
const hidden = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * Text from anybody, for a terminal: control characters, of which terminals make colours, titles and cleared screens, as JSON writes them, and with them those that
 * turn the direction of text.
 */
export function visible(text: string): string {
  return text.replace(hidden, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
