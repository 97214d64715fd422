/** The fields that the filters of all operations share. */
import { isUnscoped } from '../domain/access/rights.ts';
import {
  countMatching,
  type Filter,
  type ItemFilter,
  type OperationKind,
} from '../domain/items/operations.ts';
import type { SchemaTypes } from './builder.ts';
import { itemKeyOf, keyOf } from './global-id.ts';
import { createGroupLoader } from './loader.ts';
import { checkJob } from './scope.ts';
import type { Services } from './services.ts';

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;

export function itemFilterFields(t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>) {
  return {
    jobId: t.id({ description: 'Items of this job and of all jobs below it.' }),
    types: t.stringList({ description: 'Of one of these types.' }),
    codes: t.stringList({ description: 'Whose last failure has one of these codes.' }),
    dedupeKeys: t.stringList({ description: 'With one of these dedupe keys.' }),
    itemIds: t.idList({ description: 'These items.' }),
  };
}

/** The filter in the form that operations take, limited to the caller's tenant. @throws NotFoundError for a job that does not exist */
export async function toItemFilter(
  { jobId, types, codes, dedupeKeys, itemIds }: GivenItemFilter,
  context: Services,
): Promise<ItemFilter> {
  const job = jobId == null ? undefined : keyOf('Job', jobId, 'filter.jobId');
  if (job !== undefined && !isUnscoped(context.caller)) await checkJob(context, job, 'filter.jobId');
  return {
    tenant: context.caller.tenant ?? undefined,
    jobId: job,
    types: types ?? undefined,
    codes: codes ?? undefined,
    dedupeKeys: dedupeKeys ?? undefined,
    items: itemIds?.map((id, i) => itemKeyOf(id, `filter.itemIds[${i}]`)),
  };
}

/** How many items an operation of this kind would affect. What is asked under many aliases is counted once. */
export const countOf = createGroupLoader(
  (asked: { kind: OperationKind; filter: Filter<OperationKind> }) => JSON.stringify(asked),
  async (asked, { engine }) => {
    const [{ kind, filter }] = asked;
    const count = await countMatching(engine, kind, filter);
    return asked.map(() => count);
  },
);

interface GivenItemFilter {
  readonly jobId?: string | null | undefined;
  readonly types?: readonly string[] | null | undefined;
  readonly codes?: readonly string[] | null | undefined;
  readonly dedupeKeys?: readonly string[] | null | undefined;
  readonly itemIds?: readonly string[] | null | undefined;
}
