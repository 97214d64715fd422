/** JSON has numbers of any length, JavaScript has not: `JSON.parse` rounds 9007199254740993. What it would round can pass it as a string with a mark. */

/** At least so many digits, or so small an exponent, has what is rounded; ids in strings do not. */
const mayBeRounded = /(?:^|[[:,\s])-?(?:[\d.]{16}|\d[\d.]*e[+-]?\d{3})/i;
const inNumber = /[-+.\de]*/iy;
const jsonNumber = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/** So many letters take up to twenty milliseconds. */
const lettersOfStep = 1_000_000;

/** The JSON text with each number that would be rounded as a string, which begins with the mark. */
export const markRounded = (json: string, mark: string): string => toEnd(marking(json, mark));

/** The same in steps. `onLong` is told of each long number, and whether it is as JavaScript writes it: others take much longer. */
export function* marking(json: string, mark: string, onLong?: OnLong): Generator<void, string> {
  if (!mayBeRounded.test(json)) return json;
  let marked = '';
  let from = 0;
  let next = lettersOfStep;
  for (let i = 0; i < json.length; i++) {
    if (i > next) {
      next = i + lettersOfStep;
      yield;
    }
    const letter = json[i] as string;
    if (letter === '"') {
      while (++i < json.length && json[i] !== '"') if (json[i] === '\\') i++;
    } else if (letter === '-' || (letter >= '0' && letter <= '9')) {
      inNumber.lastIndex = i;
      const [number = ''] = inNumber.exec(json) ?? [];
      if (isRounded(number, onLong)) {
        marked += `${json.slice(from, i)}"${mark}${number}"`;
        from = i + number.length;
      }
      i += number.length - 1;
    }
  }
  return marked + json.slice(from);
}

type OnLong = (isUsual: boolean) => void;

/** Nobody else knows it, so no other string begins with it. */
const secret = `${Math.random()} `;
const marked = new RegExp(`"${secret}([^"]+)"`, 'g');

/** Keep all digits between a text and a value, and back, of whoever reads and writes JSON in one program or page. */
export const mark = (json: string): string => markRounded(json, secret);
export const unmark = (json: string): string => json.replace(marked, '$1');

export function toEnd<Result>(steps: Generator<void, Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** Nothing else than a number is. */
export function isRounded(number: string, onLong?: OnLong): boolean {
  if (!mayBeRounded.test(number)) return false;
  const short = String(Number(number));
  onLong?.(short === number);
  const digits = short === number ? '' : digitsOf(number);
  return digits !== '' && digits !== digitsOf(short);
}

/** The same for all ways to write a number: its digits without zeros around them, and the power of ten of the last one. */
function digitsOf(number: string): string {
  const [, sign, whole = '', fraction = '', power = 0] = jsonNumber.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  return kept && `${sign}${kept}e${Number(power) - fraction.length + digits.length - kept.length}`;
}
