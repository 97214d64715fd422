/**
 * Converts names between callers and tables. A caller of a tenant neither sends nor sees the prefix that its names have in the
 * tables (`domain/values/tenants.ts`): it is added here to the names in an operation, and removed from the names in an answer. A caller with a scope and
 * without a tenant may not send names of tenants that its scope does not name. For all others, this costs a comparison or two for each of these fields. A test walks the schema: each field with text is listed here, or
 * known to contain no names.
 */
import {
  defaultFieldResolver,
  type GraphQLArgument,
  GraphQLError,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLSchema,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { isUnscoped, mayName, type TenantScope } from '../../domain/access/rights.ts';
import { JsonText } from '../../domain/values/json-text.ts';
import { inWordsOf, toShown, toStored, toStoredClaimId } from '../../domain/values/tenants.ts';
import { ForbiddenError } from '../../errors.ts';
import type { Services } from './services.ts';

/** Fields and arguments that callers send. */
const given = `
  CallbackDeliveryFilter.endpoint CallbackInput.endpoint ClaimItemInput.worker ClaimItemsInput.worker ClaimRequestInput.type
  DeadLetterAlertInput.endpoint DeadLetterFilter.types DeleteCallbackEndpointInput.name DeleteScheduleInput.name DeleteTypeSchemaInput.type
  EnqueueInput.serializeKey EnqueueInput.type
  ItemInput.serializeKey JobFilter.schedule JobFilter.types JobInput.after JobInput.name JobInput.type NewItemInput.serializeKey
  NewItemInput.type PauseScheduleInput.name PendingItemFilter.types PutCallbackEndpointInput.name PutTypeSchemaInput.type
  ResumeScheduleInput.name RotateCallbackSecretInput.name RunScheduleInput.name ScheduleInput.name SetQueueInput.type
  SkipOccurrenceInput.name WorkerInput.name
  Query.callbackEndpoints.after Query.deadLetterDigest.types Query.deadLetterGroups.types Query.filePreview.type Query.heldItems.types Query.heldItems.workers
  Query.imports.type Query.jobByDedupeKey.type Query.queue.type Query.queueTotal.types Query.queues.after Query.queues.types Query.schedule.name Query.serializeKeys.keys SerializeKeyPlaceInput.key
  Query.typeSchemas.type Query.typesWithSchemas.after
  Query.workers.after Query.workers.types Subscription.queues.types Subscription.workAvailable.types`;

/** Fields in answers. */
const shown = `
  Assignment.type Assignment.worker CallbackDelivery.endpoint CallbackEndpoint.name ClaimItemsPayload.limitedTypes DeadLetterAlert.endpoint
  DeadLetterGroup.type DeleteCallbackEndpointPayload.name DeleteSchedulePayload.name ExchangePayload.limitedTypes HeldItem.type
  HeldItem.worker ItemFailure.worker Job.type JobCallback.endpoint JobItem.serializeKey JobOccurrence.schedule OperationSelection.types Query.typesWithSchemas
  Queue.type Schedule.name SerializeKey.key Standstill.serializeKey Standstill.type SyncSchedulesPayload.changed SyncSchedulesPayload.created SyncSchedulesPayload.deleted
  TreeDeadLetterGroup.type TypeSchema.type WorkAvailable.types Worker.name WorkerType.type`;

/** Ids that may contain a name. */
const ids = 'CallbackEndpoint.id Query.node.id Query.nodes.ids Schedule.id';

/** Sentences for people that contain names. */
const sentences = `
  AuditEntry.subjects EntryError.message FileError.message FilePreviewRow.problem InvalidInputError.message ItemNotClaimableError.message ItemNotUpdatableError.message
  JobFedByParentError.message JobSealedError.message NotFoundError.message ScheduleFailure.message
  Standstill.message StorageLimitError.message`;

/** Lists of which each entry is answered separately: a name that the caller may not send refuses its entry, which becomes the error. */
const judgedApart: ReadonlySet<string> = new Set(['Mutation.createJobs.inputs']);

/** A job in the form of JobInput. */
const templates = 'Schedule.template';

type Convert = (caller: TenantScope, value: unknown) => unknown;
type ConvertText = (caller: TenantScope, text: string) => string;

/** @throws ForbiddenError for a name of a tenant that the caller's scope does not reach, which reveals nothing of that tenant */
const received: ConvertText = (caller, name) => {
  if (!mayName(caller, name))
    throw new ForbiddenError(
      `Your scope does not include the tenant that ${JSON.stringify(name)} belongs to.`,
    );
  return toStored(caller.tenant, name);
};
const sent: ConvertText = ({ tenant }, name) => toShown(tenant, name);

const text =
  (convert: ConvertText): Convert =>
  (caller, value) =>
    typeof value === 'string' ? convert(caller, value) : value;

/** Converts the name in an id that has one after its type; other ids contain no names. */
const inId = (convert: ConvertText) =>
  text((caller, id) => {
    const [, type, name] = /^((?:Schedule|CallbackEndpoint):)(.*)$/s.exec(id) ?? [];
    return type === undefined || name === undefined ? id : type + convert(caller, name);
  });

const listed = (coordinates: string, convert: Convert): [string, Convert][] =>
  coordinates
    .trim()
    .split(/\s+/)
    .map((coordinate) => [coordinate, convert]);

/** By `Type.field`, or `Type.field.argument`. */
const incoming = new Map([
  ...listed(given, text(received)),
  ...listed(ids, inId(received)),
  ...listed(
    'ClaimItemsInput.claimId',
    text(({ tenant }, id) => toStoredClaimId(tenant, id)),
  ),
]);
const outgoing = new Map([
  ...listed(shown, text(sent)),
  ...listed(ids, inId(sent)),
  ...listed(
    sentences,
    text(({ tenant }, sentence) => inWordsOf(tenant, sentence)),
  ),
]);

/** For the test that no field is forgotten. */
export const nameCoordinates: ReadonlySet<string> = new Set([
  ...incoming.keys(),
  ...outgoing.keys(),
  templates,
]);

/** How values of a type are converted, where `convert` converts names; undefined if a type contains none. */
type Converters = Map<GraphQLInputType, Convert | undefined>;

/** The conversion of a field or argument: of itself, or of what it contains. */
function converterOf(
  coordinate: string,
  { type }: GraphQLInputField | GraphQLArgument,
  names: ReadonlyMap<string, Convert>,
  known: Converters,
): Convert | undefined {
  const convert = names.get(coordinate);
  return convert === undefined ? within(type, names, known) : inLists(convert);
}

const inLists =
  (convert: Convert): Convert =>
  (caller, value) =>
    Array.isArray(value) ? value.map((element) => convert(caller, element)) : convert(caller, value);

/** For a list whose entries are converted alike. */
const apart =
  (convert: Convert): Convert =>
  (caller, value) =>
    (value as unknown[]).flatMap((entry) => {
      try {
        return convert(caller, [entry]) as unknown[];
      } catch (error) {
        if (error instanceof ForbiddenError) return [error];
        throw error;
      }
    });

function within(
  type: GraphQLInputType,
  names: ReadonlyMap<string, Convert>,
  known: Converters,
): Convert | undefined {
  if (isNonNullType(type)) return within(type.ofType, names, known);
  if (isListType(type)) {
    const convert = within(type.ofType, names, known);
    return convert && inLists(convert);
  }
  if (!isInputObjectType(type)) return undefined;
  if (known.has(type)) return known.get(type);
  const members = new Map<string, Convert>();
  const convert: Convert = (caller, value) => {
    if (typeof value !== 'object' || value === null) return value;
    const converted: Record<string, unknown> = { ...value };
    for (const [name, member] of members)
      if (converted[name] != null) converted[name] = member(caller, converted[name]);
    return converted;
  };
  // Set first, since an input may contain itself.
  known.set(type, convert);
  for (const field of Object.values(type.getFields())) {
    const member = converterOf(`${type.name}.${field.name}`, field, names, known);
    if (member !== undefined) members.set(field.name, member);
  }
  if (members.size === 0) known.set(type, undefined);
  return known.get(type);
}

type Field = GraphQLField<unknown, Services>;

/** Makes every field of the schema use the names of its caller. */
export function nameByTenant(schema: GraphQLSchema): void {
  const known: Converters = new Map();
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields()) as Field[]) {
      const coordinate = `${type.name}.${field.name}`;
      const convert = coordinate === templates ? templateConverter(schema) : outgoing.get(coordinate);
      if (convert !== undefined) showNames(field, convert);
      takeNames(coordinate, field, known);
    }
  }
}

function takeNames(coordinate: string, field: Field, known: Converters): void {
  const named = field.args.flatMap((arg) => {
    const path = `${coordinate}.${arg.name}`;
    const convert = converterOf(path, arg, incoming, known);
    if (convert === undefined) return [];
    return [{ name: arg.name, convert: judgedApart.has(path) ? apart(convert) : convert }];
  });
  if (named.length === 0) return;
  const toStoredArgs = (args: Record<string, unknown>, caller: TenantScope) => {
    const stored = { ...args };
    for (const { name, convert } of named)
      if (stored[name] != null) stored[name] = convert(caller, stored[name]);
    return stored;
  };
  // The arguments of a subscription are used when it begins; its events come without them.
  const part = coordinate.startsWith('Subscription.') ? 'subscribe' : 'resolve';
  const run = field[part];
  if (run === undefined) throw new Error(`${coordinate} takes names, and does nothing with them.`);
  field[part] = (source, args, context, info) => {
    const { caller } = context;
    const isLimited = caller.tenant !== null || !isUnscoped(caller);
    return run(source, isLimited ? toStoredArgs(args, caller) : args, context, info);
  };
}

function showNames(field: Field, convert: Convert): void {
  const { resolve = defaultFieldResolver } = field;
  const show = inLists(convert);
  field.resolve = (source, args, context, info) => {
    const value = resolve(source, args, context, info);
    const { caller } = context;
    if (caller.tenant === null) return value;
    return value instanceof Promise ? value.then((late) => show(caller, late)) : show(caller, value);
  };
}

/** A template was once an input, and has the names that inputs have. */
function templateConverter(schema: GraphQLSchema): Convert {
  const names = new Map(listed(given, text(sent)));
  const convert = within(schema.getType('JobInput') as GraphQLInputType, names, new Map()) as Convert;
  return (caller, template) => convert(caller, template instanceof JsonText ? template.value : template);
}

/** The errors of an answer, after masking, with names as the caller knows them. */
export function errorsInWordsOf(
  tenant: string | null,
  errors: readonly GraphQLError[],
): readonly GraphQLError[] {
  if (tenant === null) return errors;
  return errors.map(({ nodes, source, positions, path, extensions, message }) => {
    const places = { nodes: nodes ?? null, source: source ?? null, positions: positions ?? null };
    return new GraphQLError(inWordsOf(tenant, message), { ...places, path: path ?? null, extensions });
  });
}
