import { oneLine } from './output.ts';

/** Each column as wide as its longest cell; the first row is the header. */
export function table(raw: readonly string[][]): string {
  const rows = raw.map((row) => row.map(oneLine));
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  const lines = rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}
