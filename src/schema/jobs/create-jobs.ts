import type { Engine } from '../../domain/engine/engine.ts';
import { type CreatedJob, createAlone } from '../../domain/jobs/create-job.ts';
import { createJobs } from '../../domain/jobs/create-jobs.ts';
import { type ErrorCode, InvalidInputError, JobtreeError } from '../../errors.ts';
import { toImports } from '../access/audit-subjects.ts';
import { actOf } from '../core/audit-plugin.ts';
import { builder } from '../core/builder.ts';
import { EntryError, toEntryError } from '../core/errors.ts';
import { encodeGlobalId } from '../core/global-id.ts';
import type { Services } from '../core/services.ts';
import type { ReceivedFile } from '../files/received-file.ts';
import { takeJob } from './create-job.ts';
import { type GivenJob, JobInput } from './inputs.ts';

type Answer = CreatedJob | JobtreeError;

const isRefused = (answer: Answer): answer is JobtreeError => answer instanceof JobtreeError;

const Entry = builder.objectRef<{ index: number; answer: Answer }>('CreateJobsEntry').implement({
  description: 'The answer to one entry: a job, or an error.',
  fields: (t) => ({
    index: t.exposeInt('index', { description: 'Which entry of `inputs`, from 0.' }),
    jobId: t.id({
      nullable: true,
      description: 'The root: the new one, or the one that has its dedupe key. Null for a refused entry.',
      resolve: ({ answer }) => (isRefused(answer) ? null : encodeGlobalId('Job', answer.jobId)),
    }),
    created: t.boolean({
      description: 'Whether it is new; false if a job with the dedupe key existed, and for a refused entry.',
      resolve: ({ answer }) => !isRefused(answer) && answer.created,
    }),
    error: t.field({
      type: EntryError,
      nullable: true,
      description:
        'Why the entry was refused: any code that `createJob` answers with; also FORBIDDEN, BUSY, UNAVAILABLE (try these two again) and OUTCOME_UNKNOWN. Null for a job.',
      resolve: ({ answer }) => (isRefused(answer) ? toEntryError(answer) : null),
    }),
  }),
});

const Payload = builder.objectRef<{ answers: Answer[] }>('CreateJobsPayload').implement({
  description: 'What happened to the entries.',
  fields: (t) => ({
    entries: t.field({
      type: [Entry],
      description: 'An answer for each entry, in the same order: up to 1,000.',
      resolve: ({ answers }) => answers.map((answer, index) => ({ index, answer })),
    }),
  }),
});

builder.mutationField('createJobs', (t) =>
  t.field({
    authScopes: { may: 'create' },
    audited: ({ inputs }) => {
      const imports = inputs.flatMap(importsOf);
      return imports.length === 0 ? undefined : imports;
    },
    auditsParts: true,
    type: Payload,
    description:
      'Creates many trees of jobs in one call, each as `createJob` would: either all of a tree, or nothing. Each entry is checked separately: a refused one does not affect the others. It counts against rate limits as often as it has entries.',
    args: {
      inputs: t.arg({
        type: [JobInput],
        required: true,
        description:
          'The trees: 1 to 1,000, of 10,000 jobs and 10,000 items in total; with more, the whole call is refused. Of two entries with one dedupe key, the second gets the job of the first.',
      }),
    },
    errors: { types: [InvalidInputError] },
    resolve: async (_, { inputs }, context) => {
      const files = inputs.map((): ReceivedFile[] => []);
      const jobs = [];
      for (const [i, input] of inputs.entries()) jobs.push(await take(input, context, files[i] ?? []));
      const record = recorderOf(context, inputs);
      const tried = new Set<number>();
      const answers = await createJobs(context.engine, jobs, async (prepared, i) => {
        tried.add(i);
        const answer = await record(i, (engine) => createAlone(engine, prepared));
        if (answer.created) for (const file of files[i] ?? []) file.keep();
        return answer;
      });
      for (const [i, answer] of answers.entries())
        if (isRefused(answer) && !tried.has(i)) await record(i, () => answer, codeOf);
      return { answers };
    },
  }),
);

const codeOf = ({ code }: JobtreeError) => code;

const importsOf = (input: GivenJob | JobtreeError) =>
  input instanceof JobtreeError ? [] : [...toImports(input)];

/** Does something for an entry. If that has imports, they are recorded in the audit with what became of it. */
function recorderOf(context: Services, inputs: readonly (GivenJob | JobtreeError)[]) {
  const { audit, engine } = context;
  return async <T>(
    i: number,
    use: (engine: Engine) => T | Promise<T>,
    refusalOf?: (result: T) => ErrorCode,
  ): Promise<T> => {
    const imports = importsOf(inputs[i] as GivenJob | JobtreeError);
    if (imports.length === 0) return use(engine);
    const act = actOf(context, 'createJobs', imports);
    return audit.run(engine.database, act, (database) => use({ ...engine, database }), refusalOf);
  };
}

/** An entry that names what the caller may not is an error by now (`tenant-names.ts`). */
async function take(input: GivenJob | JobtreeError, context: Services, files: ReceivedFile[]) {
  if (input instanceof JobtreeError) return input;
  try {
    return await takeJob(input, context, files);
  } catch (error) {
    if (error instanceof JobtreeError) return error;
    throw error;
  }
}
