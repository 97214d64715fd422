/** JSON has numbers of any length, JavaScript has not: `JSON.parse` rounds 9007199254740993. What it would round can pass it as a string with a mark. */

/** At least so many digits, or so small an exponent, has what is rounded; ids in strings do not. */
const mayBeRounded = /(?:^|[[:,\s])-?(?:[\d.]{16}|\d[\d.]*e[+-]?\d{3})/i;
const shortest = 16;
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i;

const quote = 0x22;
const backslash = 0x5c;
const minus = 0x2d;
const plus = 0x2b;
const point = 0x2e;
const smallE = 0x65;

/** There are more long numbers than whoever parses the text has time for. */
export class TooManyNumbersError extends Error {}

/** The JSON text with each number that would be rounded as a string, which begins with the mark. @throws TooManyNumbersError */
export function markRounded(json: string, mark: string, most = Number.POSITIVE_INFINITY): string {
  if (!mayBeRounded.test(json)) return json;
  let marked = '';
  let from = 0;
  let looked = 0;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === quote) {
      i = endOfString(json, i + 1);
    } else if (code === minus || isDigit(code)) {
      const start = i;
      let hasExponent = false;
      for (let next = code; isInNumber(next); next = json.charCodeAt(++i))
        hasExponent ||= (next | 0x20) === smallE;
      const end = i--;
      if (end - start < shortest && !hasExponent) continue;
      const number = json.slice(start, end);
      // Nearly all are as JavaScript writes them. Others take much longer, and so does what is done with them.
      const isUsual = String(Number(number)) === number;
      looked += isUsual ? 1 : 50;
      if (looked > most) throw new TooManyNumbersError();
      if (isUsual || !isRounded(number)) continue;
      marked += `${json.slice(from, start)}"${mark}${number}"`;
      from = end;
    }
  }
  return marked + json.slice(from);
}

const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

const isInNumber = (code: number) =>
  isDigit(code) || code === minus || code === plus || code === point || (code | 0x20) === smallE;

/** Where the quote is that ends the string. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0;
    while (end - escapes > start && json.charCodeAt(end - escapes - 1) === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return json.length;
}

/** Nothing else than a number is. */
export function isRounded(number: string): boolean {
  if (!mayBeRounded.test(number)) return false;
  const short = String(Number(number));
  // Most numbers are written in one way only.
  if (short === number || !jsonNumber.test(number)) return false;
  return /^-?\d{1,21}$/.test(number) || digitsOf(number) !== digitsOf(short);
}

/** The same for all ways to write a number: its digits without zeros around them, and the power of ten of the last one. */
function digitsOf(number: string): string {
  const [, sign, whole = '', fraction = '', power = 0] = /^(-?)(\d+)\.?(\d*)(?:e(.+))?$/i.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  return kept && `${sign}${kept}e${Number(power) - fraction.length + digits.length - kept.length}`;
}
