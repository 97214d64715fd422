/** Mutations on all trees that match a filter. */
import type { TreeOperationKind } from '../../domain/operations/operations.ts';
import { startOnTrees } from '../../domain/operations/tree-operations.ts';
import { maxBatch } from '../../domain/values/limits.ts';
import { InvalidInputError } from '../../errors.ts';
import { toConditions as toSubjects } from '../access/audit-subjects.ts';
import { builder } from '../core/builder.ts';
import { checkTypeScope } from '../core/scope.ts';
import type { Services } from '../core/services.ts';
import { JobFilter, toConditions } from '../jobs/job-filter.ts';
import { operationField } from './operation.ts';

const condition =
  'Which trees: at least one condition must be set. They are conditions on whole trees, as with `wholeTrees`; INVALID_INPUT for `rootsOnly: false`.';
const late =
  'It continues in the server, tree by tree, the oldest first: trees that no longer match when it is their turn are skipped, and so are those that are created during the operation or have jobs outside your scope. `jobCount` with the same filter and `wholeTrees` says beforehand how many match.';

const Input = (name: string) =>
  builder.inputType(name, {
    description: 'Which trees.',
    fields: (t) => ({ filter: t.field({ type: JobFilter, required: true, description: condition }) }),
  });

const mutate = (
  name: 'cancelTrees' | 'deleteTrees',
  kind: TreeOperationKind,
  { payload, description }: { readonly payload: string; readonly description: string },
) => {
  const typeName = `${name.charAt(0).toUpperCase()}${name.slice(1)}` as 'CancelTrees' | 'DeleteTrees';
  const Payload = builder.objectRef<string>(`${typeName}Payload`).implement({
    description: payload,
    fields: (t) => ({ operation: operationField(t) }),
  });
  builder.mutationField(name, (t) =>
    t.field({
      authScopes: { may: 'clear' },
      audited: ({ input }) => toSubjects(givenOf(input.filter)),
      type: Payload,
      description: `${description} ${late}`,
      args: {
        input: t.arg({ type: Input(`${typeName}Input`), required: true, description: 'Which trees.' }),
      },
      errors: { types: [InvalidInputError] },
      resolve: async (_, { input }, context) => {
        const conditions = await toTreeConditions(input.filter, context);
        const { engine, caller } = context;
        return startOnTrees(engine, kind, conditions, caller, caller.name);
      },
    }),
  );
};

mutate('cancelTrees', 'CANCEL_TREES', {
  payload: 'The trees are being cancelled.',
  description:
    'Cancels all trees that match, as `cancelJob` cancels one. Those that are complete stay as they are, and are not counted.',
});

mutate('deleteTrees', 'DELETE_TREES', {
  payload: 'The trees are being deleted.',
  description:
    'Deletes all trees that match, as `deleteJob` deletes one: what is pending in them is cancelled first. A tree counts as done when its deletion has begun; small complete ones are gone by then.',
});

/** Those that narrow the list. */
const givenOf = ({ rootsOnly: _, wholeTrees: __, ...conditions }: typeof JobFilter.$inferInput) => conditions;

async function toTreeConditions(filter: typeof JobFilter.$inferInput, context: Services) {
  if (filter.rootsOnly === false)
    throw new InvalidInputError('filter is about whole trees: omit rootsOnly.', 'filter.rootsOnly');
  if (Object.values(givenOf(filter)).every((value) => value == null))
    throw new InvalidInputError(
      'filter is empty, and would match everything: set at least one of its conditions.',
      'filter',
    );
  if (filter.types != null) checkTypeScope(context, filter.types, 'filter.types');
  const conditions = await toConditions(filter, context);
  // Nobody has a job in the scope yet: as names, its patterns match nothing, and say whose operation it is.
  if (conditions.types?.length === 0) return { ...conditions, types: context.caller.types };
  if (filter.types == null && conditions.types !== null && conditions.types.length >= maxBatch)
    throw new InvalidInputError(
      `Your scope may have more than ${maxBatch} types: name those that you mean.`,
      'filter.types',
    );
  return conditions;
}
