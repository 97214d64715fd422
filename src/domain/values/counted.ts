/** Numbers for people. */

/** `1,234,567` */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `3,376 items`, `1 item`, `2 processes` */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : noun.endsWith('s') ? 'es' : 's'}`;
}
