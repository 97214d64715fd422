/** The fields that the filters of all operations share. */
import { isUnscoped, seesTenant } from '../../domain/access/rights.ts';
import {
  countMatching,
  type Filter,
  type ItemFilter,
  type OperationKind,
} from '../../domain/operations/operations.ts';
import { maxBatch } from '../../domain/values/limits.ts';
import { InvalidInputError } from '../../errors.ts';
import type { SchemaTypes } from '../core/builder.ts';
import { itemKeyOf, keyOf } from '../core/global-id.ts';
import { createGroupLoader } from '../core/loader.ts';
import { checkJob, checkTypeScope, shownTypes } from '../core/scope.ts';
import type { Services } from '../core/services.ts';

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

/**
 * The filter with the caller's scope as another condition, so that an operation keeps to it for as long as it takes.
 *
 * @throws ForbiddenError for a type outside the scope, and InvalidInputError for a scope of more types than a filter can name
 */
export async function inScopeOnly<F extends ItemFilter>(filter: F, context: Services): Promise<F> {
  const { caller } = context;
  if (caller.types === null || seesTenant(caller)) return filter;
  if (filter.types !== undefined) {
    checkTypeScope(context, filter.types, 'filter.types');
    return filter;
  }
  const { tenant, ...conditions } = filter;
  // A filter without conditions is refused, and stays one.
  if (Object.values(conditions).every((condition) => condition === undefined)) return filter;
  const seen = (await shownTypes(context, null)) ?? [];
  // Nobody has a job in it yet: as names, its patterns match nothing.
  if (seen.length === 0) return { ...filter, types: caller.types };
  if (seen.length < maxBatch) return { ...filter, types: seen };
  throw new InvalidInputError(
    `Your scope may have more than ${maxBatch} types: name those that you mean.`,
    'filter.types',
  );
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
