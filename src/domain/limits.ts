/** The bounds of what a caller may send, in one place; the same stand in the descriptions of the API. */
export interface Limits {
  /** The largest payload or result, in bytes of its JSON text. */
  readonly maxJsonBytes: number;
}

export const maxBatch = 1_000;
/** How many lists and objects deep the JSON of a payload, a result or a feed may be: `[]` is 1 deep. */
export const maxJsonDepth = 256;
/**
 * What is stored may be deeper: it is older than that limit. So deep it can be shown, without danger to the stack of who writes
 * the answer.
 */
export const maxShownDepth = 1_000;
export const maxNameLength = 200;
export const maxDedupeKeyLength = 500;
export const maxSerializeKeyLength = 255;
export const maxTreeDepth = 32;
export const maxTreeJobs = 1_000;
/** How many jobs one may wait for. */
export const maxAfter = 100;
/** About what the payloads of a claim have together at most, as claim_items has it. */
export const maxClaimBytes = 32_000_000;
/** Of a feed's mapping, as JSON text. */
export const maxFeedBytes = 10_000;
/** Of a failure that says when to try again. */
export const retryAfterMsRange = [0, 2_147_483_647] as const;
/** An item that is snoozed has a lease for each time: not more often than once a second. */
export const snoozeMsRange = [1_000, 2_147_483_647] as const;
/** Of a note on an item, and of a line of its log, in characters. */
export const maxNoteLength = 500;
/** Of an item, over all attempts; note_items knows it too. */
export const maxLogLines = 50;
export const priorityRange = [-32_768, 32_767] as const;
/** Exclusive: the first instant of the year 10000. */
export const runAtEnd = Date.UTC(10_000, 0, 1);
export const maxCronLength = 200;
export const maxTimeZoneLength = 100;
/** From a second to a leap year. */
export const everyMsRange = [1_000, 31_622_400_000] as const;
/** Of what a schedule makes, as JSON text. */
export const maxTemplateBytes = 1_000_000;
/** Of a tree. */
export const maxCallbacks = 10;
export const maxUrlLength = 2_000;
/** How long the secret before a new one goes on signing: up to 30 days. */
export const keepPreviousMsRange = [0, 2_592_000_000] as const;
export const maxFailureTextLength = 10_000;
/** Of a schema: bytes of its JSON text, levels, schemas in it with references written out, characters of a regular expression. */
export const maxSchemaBytes = 50_000;
export const maxSchemaDepth = 32;
/** Each takes up to half a millisecond to compile. */
export const maxSchemaParts = 300;
export const maxPatternLength = 500;
/** What has less than 10,000 bytes is never too much. */
export const maxSchemaCost = 2_000;
/** A fifth of a second at worst, which takes a schema made for it. */
export const maxSchemaWork = 20_000_000;
/** Of the versions of a type's schemas. */
export const maxTypeVersion = 1_000_000;
/** Of the types and of the trees that rights are narrowed to. */
export const maxScopeEntries = 100;
/** Of a watch token: from ten seconds to a day. */
export const watchTokenSecondsRange = [10, 86_400] as const;
