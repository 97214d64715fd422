/** What the commands that create work are called and take. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { jsonOption, urlOption } from './api-options.ts';
import { parseDuration, parseDurations, parseSeconds, parseTolerance, parseWholeNumber } from './figures.ts';
import { helpEnd } from './help-text.ts';
import { run } from './run.ts';

/** What servers take, too. */
function parseDelimiter(text: string): string {
  if (/^[\t -~]$/.test(text)) return text;
  throw new InvalidArgumentError('Give one character of ASCII, or a tab.');
}

export function addImport(program: Command): void {
  program
    .command('import')
    .description('Turn the rows of a file into the items of a job, in their order, and print its id.')
    .argument('<file>', 'the file; - reads standard input')
    .option('--type <type>', 'the type of the new job')
    .option('--job <id>', 'add the items to this job; no new one is created')
    .addOption(
      new Option(
        '--format <format>',
        'the format, if the extension (csv, ndjson, jsonl, json, txt) does not say',
      ).choices(['csv', 'ndjson', 'json', 'lines']),
    )
    .option('--delimiter <character>', 'what separates the cells of a CSV row', parseDelimiter, ',')
    .option('--dedupe-key <key>', 'continue in the job that has this key, if there is one')
    .option('--serialize-key <field>', 'run rows with the same value in this field one at a time, in order')
    .option('--block-on-failure', 'hold back the rows behind one that failed for good until it is settled')
    .option(
      '--max-failures <n>',
      'how often an item may fail before it has failed for good',
      parseWholeNumber(0, 1_000),
    )
    .option(
      '--tolerate <failures>',
      'how many items, or what share of them (5%), may fail before the job fails',
      parseTolerance,
    )
    .option('--backoff <times>', 'how long to wait after each failure: 30s,5m,30m', parseDurations)
    .option('--priority <n>', 'higher priorities go first', parseWholeNumber(-32_768, 32_767))
    .option('--callback <endpoint...>', 'endpoints to call when the job is complete')
    .option('--retention <time>', 'how long to keep the job once it is complete: 30d, never', parseSeconds)
    .option('--upload', 'upload the file, so that you can close this shell')
    .option('--no-upload', 'read the file here, whatever its size')
    .option('--no-seal', 'leave the job open for more items')
    .option('--watch', 'then watch the job until it is complete')
    .addOption(
      new Option('--patience <time>', 'how long to keep trying while the server or its Postgres is away')
        .argParser(parseDuration)
        .default(60_000, '60s'),
    )
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText(
      'after',
      helpEnd(
        ['success', 'failure', 'usage', 'itemsFailed', 'notFound', 'unreachable', 'badFile'],
        'A CSV row becomes an object of strings, named by the header; a line of NDJSON becomes its value; a plain line becomes a string. Empty lines are left out. If a row is bad or the import is interrupted, the new job is cancelled.',
        'Files of more than 10 MB, files that end in .gz or .zst, and JSON arrays are uploaded: the server reads them, and a bad row becomes a failed item. --no-upload, and options that need the file to be read here, prevent it.',
      ),
    )
    .action(
      run('continue', async (file, options) =>
        (await import('./commands/import.ts')).importFile(file, options),
      ),
    );
}

export function addCreate(program: Command): void {
  program
    .command('create')
    .description('Create a tree of jobs from a file, and print the id of its root.')
    .argument('<file>', 'the tree in JSON or YAML, with the fields of JobInput; - reads standard input')
    .option('--watch', 'watch the root until it is complete')
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'itemsFailed', 'unreachable', 'badFile']))
    .action(
      run('end', async (file, options) => (await import('./commands/create.ts')).createTree(file, options)),
    );
}

export function addSeal(program: Command): void {
  program
    .command('seal')
    .description('Declare that a job gets no more items, so that it can complete.')
    .argument('<id>', 'the job')
    .addOption(urlOption())
    .addOption(jsonOption('the outcome as JSON'))
    .addHelpText('after', helpEnd(['success', 'failure', 'usage', 'notFound', 'unreachable']))
    .action(run('end', async (id, options) => (await import('./commands/seal.ts')).sealJob(id, options)));
}
