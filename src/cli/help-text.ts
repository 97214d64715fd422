/** The parts of a command's help that commander does not make, as wide as the terminal. */
import { type Command, Help, type Option } from 'commander';
import { type ExitCodeName, exitCodeMeanings, exitCodes } from './exit-codes.ts';
import { wrap } from './width.ts';

/** Lines of more than this are hard to read. */
const widest = 110;

export function helpWidth(): number {
  return Math.min(process.stdout.isTTY ? process.stdout.columns || 80 : 80, widest);
}

/** A list of terms with what they mean, the meanings in one column. */
export function definitions(entries: readonly (readonly [term: string, meaning: string])[]): string {
  const width = helpWidth();
  const column = Math.max(...entries.map(([term]) => term.length)) + 2;
  const indent = ' '.repeat(column + 2);
  if (indent.length > 0.6 * width)
    return entries
      .map(([term, meaning]) => `  ${term}\n${wrap(`      ${meaning}`, width, '      ')}`)
      .join('\n');
  return entries
    .map(([term, meaning]) => wrap(`  ${term.padEnd(column)}${meaning}`, width, indent))
    .join('\n');
}

/** How commander shows an option or an argument; on a narrow terminal its description stands below it. */
export function formatItem(term: string, termWidth: number, description: string, helper: Help): string {
  const width = helper.helpWidth ?? helpWidth();
  const line = `  ${term.padEnd(termWidth)}  `;
  const own = wrap(`  ${term}`, width, '    ');
  if (description === '') return own;
  if (width - line.length < 24) return `${own}\n${wrap(`      ${description}`, width, '      ')}`;
  return wrap(`${line}${description}`, width, ' '.repeat(line.length));
}

/** What many commands have in common. */
const shared = ['--url', '--json', '--help'];

/** Of a command, as its help lists them: its own options, then those that it shares with others. */
export function visibleOptions(command: Command): Option[] {
  const all = new Help().visibleOptions(command);
  const place = ({ long }: Option) => shared.indexOf(long ?? '');
  return all.sort((a, b) => place(a) - place(b));
}

/** The line behind `Usage: `. */
export function commandUsage(command: Command): string {
  return wrap(new Help().commandUsage(command), helpWidth() - 'Usage: '.length, '    ');
}

/** For the end of a command's help: paragraphs, and the exit codes that it can have. A paragraph of several lines keeps them. */
export function helpEnd(codes: readonly ExitCodeName[], ...paragraphs: string[]): () => string {
  return () => {
    const texts = paragraphs.map((text) =>
      text
        .split('\n')
        .map((line) => wrap(line, helpWidth(), /^ *(\S+ {2,})?/.exec(line)?.[0].replaceAll(/./g, ' ')))
        .join('\n'),
    );
    return ['', ...texts.flatMap((text) => [text, '']), 'Exit codes:', exitCodeList(codes)].join('\n');
  };
}

export function exitCodeList(names: readonly ExitCodeName[]): string {
  return definitions([
    ...names.map((name) => [String(exitCodes[name]), exitCodeMeanings[name]] as const),
    ['130, 143', 'ended by Ctrl-C or SIGTERM before it was done'],
  ]);
}
