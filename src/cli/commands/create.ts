/** `jobtree create`: a tree of jobs as a file says it, in JSON or YAML. */
import { readFileSync } from 'node:fs';
import { FAILSAFE_SCHEMA, JSON_SCHEMA, load, Type, type YAMLException } from 'js-yaml';
import type { JobSpec } from '../../client/index.ts';
import { isRounded } from '../../domain/values/exact-numbers.ts';
import { type ApiOptions, withClient } from '../api-options.ts';
import { CommandError } from '../command-error.ts';
import { fromJson } from '../exact-json.ts';
import { exitCodes } from '../exit-codes.ts';
import { catchInterruption } from '../interruption.ts';
import { cannotRead } from '../json-file.ts';
import { printError, printOutcome } from '../output.ts';
import { watch } from './watch.ts';

export interface CreateOptions extends ApiOptions {
  readonly watch?: true;
}

export async function createTree(file: string, options: CreateOptions): Promise<number> {
  const spec = read(file);
  const interruption = catchInterruption();
  const job = await withClient(options, (client) => client.createJob(spec as JobSpec));
  printOutcome(options.json, { jobId: job.id, created: job.created }, job.id);
  if (!job.created) printError('A job with this dedupe key already exists: nothing was created.\n');
  return options.watch ? watch(job.id, options, interruption) : exitCodes.success;
}

/** As JSON_SCHEMA, which `@types/js-yaml` does not show the parts of, but with all digits of numbers. */
const exactSchema = FAILSAFE_SCHEMA.extend({
  implicit: [
    new Type('tag:jobtree,exact', {
      kind: 'scalar',
      resolve: (text: string | null) => text !== null && isRounded(text),
      construct: fromJson,
    }),
    ...(JSON_SCHEMA as unknown as { readonly implicit: Type[] }).implicit,
  ],
});

/** JSON is YAML, too. Of YAML there is what JSON can say: a time, for one, is a text. */
function read(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw cannotRead(file, error);
  }
  try {
    const spec = file.endsWith('.json') ? fromJson(text) : load(text, { schema: exactSchema });
    if (typeof spec !== 'object' || spec === null || Array.isArray(spec))
      throw new Error('it is not an object');
    return spec;
  } catch (error) {
    const { reason, mark, message } = error as Error & Partial<YAMLException>;
    const where = mark === undefined ? '' : ` (line ${mark.line + 1})`;
    throw new CommandError(
      exitCodes.badFile,
      `${file === '-' ? 'Standard input' : file} does not describe a job: ${reason ?? message}${where}.`,
    );
  }
}
