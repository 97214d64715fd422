/** Each field of the schema that has text in it is known to be a name, which its tenant's beginning is put on and taken off, or to be none. */
import {
  type GraphQLArgument,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { type Caller, createCaller } from '../../src/domain/access/rights.ts';
import { ForbiddenError } from '../../src/errors.ts';
import { nameCoordinates } from '../../src/schema/core/tenant-names.ts';
import { schema } from '../../src/schema/index.ts';

/** Texts that are no names: nobody's job meets another one's by them. */
const others = `
  Finding.advice Finding.check Finding.message RunningServer.host RunningServer.version
  FilePreview.delimiter FilePreview.encoding FilePreview.problem FilePreviewRow.payload ImportEdge.cursor Query.filePreview.delimiter
  Query.filePreview.encoding Query.filePreview.quote Query.filePreview.uploadId Query.imports.after Query.imports.before Query.uploads.after
  Query.uploads.before UploadEdge.cursor
  AddEntry.itemId AddItemsInput.jobId CreateJobsEntry.jobId ApiKey.createdBy ApiKey.id ApiKey.name ApiKey.rootIds ApiKey.tenant ApiKey.types Viewer.name Viewer.rootIds Viewer.tenant Viewer.types Assignment.id
  Assignment.itemId Assignment.jobId Assignment.payload AuditEntry.action AuditEntry.actor AuditEntry.address AuditEntry.id
  AuditEntry.outcome AuditEntryEdge.cursor AuditFilter.action AuditFilter.actor AuditFilter.subject CallbackAttempt.error CallbackDelivery.body CallbackDelivery.id
  CallbackDelivery.messageId CallbackDelivery.rootId CallbackDeliveryEdge.cursor CallbackDeliveryFilter.rootId CallbackEndpoint.url
  CancelJobInput.jobId CancelOperationInput.operationId ClaimItemInput.itemId CreateApiKeyInput.name
  CreateApiKeyInput.rootIds CreateApiKeyInput.tenant CreateApiKeyInput.types CreateApiKeyPayload.key CreateWatchTicketPayload.ticket CreateWatchTokenInput.jobId CreateWatchTokenPayload.token RevokeWatchTokensInput.jobId DeadLetterFilter.codes
  DeadLetterFilter.dedupeKeys DeadLetterFilter.groupIds DeadLetterFilter.itemIds DeadLetterFilter.jobId DeadLetterGroup.code
  JobItem.deadLetterGroupId TreeDeadLetterGroup.code TreeDeadLetterGroup.groupId TreeDeadLetterGroup.pattern DeadLetterGroup.id DeadLetterGroup.note DeadLetterGroup.pattern DeleteJobInput.jobId DeleteJobPayload.deletedJobId EnqueueInput.dedupeKey EnqueueInput.payload EntryError.field
  FailureInput.code FailureInput.message FailureInput.stack FeedInput.forEach FeedInput.payload FeedInput.serializeKey FileImport.name FileImport.uploadId
  FileInput.delimiter FileInput.encoding FileInput.quote FileSourceInput.uploadId HeartbeatEntry.assignmentId HeartbeatInput.assignmentIds HeartbeatInput.waitingIds JobTreeProgress.message TreeProgress.message
  HeldItem.assignmentId HeldItem.itemId InvalidInputError.field ItemFailure.code ItemFailure.message ItemFailure.stack ItemInput.dedupeKey ItemLogLine.text
  ItemNoteInput.assignmentId ItemNoteInput.note ItemRange.firstId ItemRange.lastId ItemRanges.nextFrom Job.itemRanges.from Job.itemRanges.to ItemSearch.nextFrom
  Job.searchItems.codes Job.searchItems.dedupeKeys Job.searchItems.equals Job.searchItems.from Job.searchItems.path Job.searchItems.text AddCallbacksInput.jobId ImportFileInput.jobId JobItem.note LogLineInput.text
  ItemInput.payload ItemNotClaimableError.field ItemNotUpdatableError.field Job.dedupeKey Feed.forEach Feed.payload Feed.serializeKey Job.id Job.items.after
  Job.items.before ChildItemEdge.cursor JobItem.childItems.after JobItem.childItems.before Job.results.after Job.results.before JobEdge.cursor JobFedByParentError.field JobInput.dedupeKey JobItem.dedupeKey
  JobItem.id JobItem.payload JobItem.payloadBeginning DeadLetterGroup.items.after HeldItemPlaceInput.itemId JobItem.result JobItemEdge.cursor JobItemsChange.goneIds JobProgress.jobId JobProgress.message
  JobProgress.revision JobResultsEdge.cursor JobSealedError.field JobTreeProgress.revision JobTreeProgress.rootId JobsChange.goneIds
  NewItemInput.dedupeKey NewItemInput.payload NotFoundError.field NoteDeadLettersInput.groupId NoteDeadLettersInput.note Operation.id Operation.requestedBy Operation.skippedReason OperationEdge.cursor OperationSelection.codes
  OperationSelection.groupIds OperationSelection.itemIds OperationSelection.jobId OperationSelection.statuses
  JobFilter.dedupeKeyPrefix PageInfo.endCursor PageInfo.startCursor PendingItemFilter.codes PendingItemFilter.dedupeKeys PendingItemFilter.itemIds
  PendingItemFilter.jobId PutCallbackEndpointInput.url PutCallbackEndpointPayload.secret PutTypeSchemaInput.payload
  PutTypeSchemaInput.result Query.apiKeys.after Query.auditEntries.after Query.auditEntries.before Query.callbackDeliveries.after Query.callbackDeliveries.before Query.item.id
  Query.deadLetterGroups.after Query.deadLetterGroups.codes Query.job.id Query.jobByDedupeKey.dedupeKey Query.jobs.after Query.jobs.before Query.operations.after Query.operations.before Query.queueTotal.nameContains Query.queues.nameContains Query.schedules.after Query.schedules.before ReleaseAssignmentsInput.assignmentIds
  ReleaseEntry.assignmentId ReplayDeadLettersInput.payload ReplayDeadLettersInput.payloadPatch ReportEntry.assignmentId ReportInput.assignmentId SuccessInput.result
  RetryCallbackDeliveryInput.deliveryId RevokeApiKeyInput.id RotateApiKeyInput.id RotateApiKeyPayload.key
  RotateCallbackSecretPayload.secret Schedule.cron Schedule.timeZone ScheduleEdge.cursor CronInput.expression CronInput.timeZone
  SealJobInput.jobId Server.version SetRetentionInput.jobId Subscription.jobItems.jobId Subscription.jobProgress.jobId
  Subscription.jobProgress.sinceRevision Subscription.jobTreeProgress.rootId Subscription.jobTreeProgress.sinceRevision
  Subscription.operationProgress.operationId SyncSchedulesInput.prefix TraceContext.traceparent TreeProgress.revision TreeProgress.rootId TraceContext.tracestate
  Standstill.code StorageLimitError.field Storage.tenants.tenant TenantStorage.tenant TraceContextInput.traceparent TraceContextInput.tracestate TypeSchema.payload TypeSchema.result UpdateItemInput.itemId
  UpdateItemInput.payload Upload.id Upload.name Upload.sha256 Worker.version WorkerInput.version`;

const texts = ['String', 'ID', 'JSON'];
const found = Object.values(schema.getTypeMap()).flatMap((type) => {
  if (type.name.startsWith('__') || (!isObjectType(type) && !isInputObjectType(type))) return [];
  return Object.values(type.getFields()).flatMap((field) => {
    const coordinate = `${type.name}.${field.name}`;
    const args: readonly GraphQLArgument[] = 'args' in field ? field.args : [];
    return [[coordinate, field] as const, ...args.map((arg) => [`${coordinate}.${arg.name}`, arg] as const)];
  });
});
const withText = found.flatMap(([coordinate, { type }]) => {
  const named = getNamedType(type);
  return isScalarType(named) && texts.includes(named.name) ? [coordinate] : [];
});

it('every text field is a name, or is listed as none', () => {
  const known = [...nameCoordinates, ...others.trim().split(/\s+/)];
  expect(withText.toSorted()).toEqual(known.toSorted());
});

/** A value of an input type with `name` at one place, for each place of the type that takes names, and the coordinate of that place. */
function* places(
  type: GraphQLInputType,
  name: string,
  above: readonly string[] = [],
): Generator<[string, unknown]> {
  if (isNonNullType(type)) yield* places(type.ofType, name, above);
  else if (isListType(type))
    for (const [place, value] of places(type.ofType, name, above)) yield [place, [value]];
  else if (isInputObjectType(type) && !above.includes(type.name))
    for (const field of Object.values(type.getFields()))
      for (const [place, value] of placesAt(`${type.name}.${field.name}`, field.type, name, [
        ...above,
        type.name,
      ]))
        yield [place, { [field.name]: value }];
}

function* placesAt(
  coordinate: string,
  type: GraphQLInputType,
  name: string,
  above: readonly string[] = [],
): Generator<[string, unknown]> {
  if (!nameCoordinates.has(coordinate)) yield* places(type, name, above);
  else if (coordinate !== 'ClaimItemsInput.claimId') {
    const text = coordinate.startsWith('Query.node') ? `Schedule:${name}` : name;
    yield [coordinate, isListType(getNullableType(type)) ? [text] : text];
  }
}

/** Every operation with a name at each of the places where it takes one. */
const operations = (name: string) =>
  [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((root) =>
    Object.values(root?.getFields() ?? {}).flatMap((field) =>
      field.args.flatMap((arg) =>
        [...placesAt(`${root?.name}.${field.name}.${arg.name}`, arg.type, name)].map(
          ([place, value]) => ({ field, place, args: { [arg.name]: value } }) as const,
        ),
      ),
    ),
  );

/** How the operation is refused, if it is because of the name. */
async function refusalOf({ field, args }: ReturnType<typeof operations>[number], caller: Caller) {
  const run =
    schema.getSubscriptionType()?.getFields()[field.name] === field ? field.subscribe : field.resolve;
  try {
    // Without an engine it goes no further than its arguments.
    const answer = await run?.(undefined, args, { caller }, { fieldNodes: [] } as never);
    // Entries have answers of their own.
    const [first] = (answer as { answers?: unknown[] } | undefined)?.answers ?? [];
    if (first instanceof Error) throw first;
  } catch (error) {
    if (error instanceof ForbiddenError && error.message.startsWith('Your scope does not include the tenant'))
      return error.code;
  }
  return undefined;
}

const all = operations('acme//k');

it('every place of an operation where a name can be is known', () => {
  const places = new Set(all.map(({ place }) => place));
  const taken = [...nameCoordinates].filter((name) =>
    /Input\.|Filter\.|^(Query|Subscription)\.\w+\./.test(name),
  );
  expect([...places].toSorted()).toEqual(
    taken.filter((place) => place !== 'ClaimItemsInput.claimId').toSorted(),
  );
});

describe.each([
  ['types', createCaller('scoped', ['producer', 'worker'], { types: ['*', 'acmes//mail*'] })],
  ['trees', createCaller('scoped', ['producer', 'worker'], { rootIds: ['1'] })],
])('a caller without a tenant and with a scope of %s', (scope, caller) => {
  // Whoever has a scope of trees creates none, whatever the entries are.
  const possible = all.filter(({ field }) => scope === 'types' || field.name !== 'createJobs');
  it.each(possible)('sends no name of a tenant in $field.name: $place', async (operation) => {
    expect(await refusalOf(operation, caller)).toBe('FORBIDDEN');
  });

  it('sends other names, and those of tenants that its scope names', async () => {
    for (const name of ['k', 'https://x', ...(caller.types === null ? [] : ['acmes//k'])])
      for (const operation of operations(name)) expect(await refusalOf(operation, caller)).toBeUndefined();
  });
});

it.each([
  ['without a scope', createCaller('all', ['producer', 'worker'])],
  ['of a tenant', createCaller('own', ['producer', 'worker'], { tenant: 'globex', types: ['*'] })],
])('a caller %s sends any name', async (_, caller) => {
  for (const operation of all) expect(await refusalOf(operation, caller)).toBeUndefined();
});
