/** JSON has numbers of any length, JavaScript has not: `JSON.parse` rounds 9007199254740993. What it would round can pass it as a string with a mark. */

/** At least so many digits, or so small an exponent, has what is rounded; ids in strings do not. */
const mayBeRounded = /(?:^|[[:,\s])-?(?:[\d.]{16}|\d[\d.]*e[+-]?\d{3})/i;
const stringsAndNumbers = /"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*/gi;

/** The JSON text with each number that would be rounded as a string, which begins with the mark. */
export function markRounded(json: string, mark: string): string {
  return mayBeRounded.test(json)
    ? json.replace(stringsAndNumbers, (found) => (isRounded(found) ? `"${mark}${found}"` : found))
    : json;
}

/** Nothing else than a number is. */
export function isRounded(number: string): boolean {
  if (!mayBeRounded.test(number)) return false;
  const short = String(Number(number));
  return short !== number && digitsOf(number) !== digitsOf(short);
}

/** The same for all ways to write a number: its digits without zeros around them, and the power of ten of the last one. */
function digitsOf(number: string): string {
  const [, sign, whole = '', fraction = '', power = 0] = /^(-?)(\d+)\.?(\d*)(?:e(.+))?$/i.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  return kept && `${sign}${kept}e${Number(power) - fraction.length + digits.length - kept.length}`;
}
