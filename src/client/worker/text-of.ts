/** What a handler gave where a text belongs, as text: an object as JSON, since "[object Object]" says nothing. */
export function textOf(value: unknown): string {
  if (typeof value === 'object' && value !== null && !(value instanceof Error)) {
    try {
      return JSON.stringify(value) ?? 'nothing that JSON can represent';
    } catch {
      return "an object that JSON can't represent";
    }
  }
  try {
    return String(value);
  } catch {
    return typeof value;
  }
}
