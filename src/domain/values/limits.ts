/** The limits of what callers may send, in one place. The descriptions of the API state the same ones. */
export interface Limits {
  /** The largest payload or result, in bytes of its JSON text. */
  readonly maxJsonBytes: number;
}

export const maxBatch = 1_000;
/** How many lists and objects deep the JSON of a payload, a result or a feed may be: `[]` is 1 deep. */
export const maxJsonDepth = 256;
/**
 * Stored JSON may be deeper if it is older than that limit. Up to this depth it can be shown without overflowing the stack of the
 * code that writes the answer.
 */
export const maxShownDepth = 1_000;
export const maxNameLength = 200;
export const maxDedupeKeyLength = 500;
export const maxSerializeKeyLength = 255;
export const maxFileNameLength = 255;
export const maxTreeDepth = 32;
export const maxTreeJobs = 1_000;
/** Of all trees that one call creates. */
export const maxCreatedJobs = 10_000;
export const maxCreatedItems = 10_000;
/** How long a claim may wait for work. */
export const maxWaitMs = 30_000;
/** The total size of the payloads of one claim, approximately; claim_items has the same limit. */
export const maxClaimBytes = 32_000_000;
/** Of a feed's mapping, as JSON text. */
export const maxFeedBytes = 10_000;
/** When a failure asks to be retried. */
export const retryAfterMsRange = [0, 2_147_483_647] as const;
/** Not more often than once a second, since each time that an item is snoozed adds a lease. */
export const snoozeMsRange = [1_000, 2_147_483_647] as const;
/** Of a note on an item, and of a line of its log, in characters. */
export const maxNoteLength = 500;
/** For an item, over all attempts; note_items has the same limit. */
export const maxLogLines = 50;
export const priorityRange = [-32_768, 32_767] as const;
/** Exclusive: the first instant of the year 10000. */
export const runAtEnd = Date.UTC(10_000, 0, 1);
export const maxCronLength = 200;
export const maxTimeZoneLength = 100;
/** From a second to a leap year. */
export const everyMsRange = [1_000, 31_622_400_000] as const;
/** Of a schedule's template, as JSON text. */
export const maxTemplateBytes = 1_000_000;
/** Of a tree. */
export const maxCallbacks = 10;
export const maxUrlLength = 2_000;
/** How long the previous secret stays valid beside a new one: up to 30 days. */
export const keepPreviousMsRange = [0, 2_592_000_000] as const;
export const maxFailureTextLength = 10_000;
export const maxStackLength = 4_096;
/** For a schema: bytes of its JSON text, levels, nested schemas with references expanded, characters of a regular expression. */
export const maxSchemaBytes = 50_000;
export const maxSchemaDepth = 32;
/** Each takes up to half a millisecond to compile. */
export const maxSchemaParts = 300;
export const maxPatternLength = 500;
/** Of all regular expressions of a schema, compiled. */
export const maxPatternInstructions = 3_000;
/** Low enough that a value of less than 10,000 bytes is never too much. */
export const maxSchemaCost = 2_000;
/** At worst a fifth of a second, for a schema made to be slow. */
export const maxSchemaWork = 20_000_000;
/** Of the versions of a type's schemas. */
export const maxTypeVersion = 1_000_000;
/** The most types, and the most trees, that a scope may list. */
export const maxScopeEntries = 100;
/** For a watch token: from ten seconds to a day. */
export const watchTokenSecondsRange = [10, 86_400] as const;
