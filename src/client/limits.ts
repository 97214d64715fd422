/** What fits into one request. */

/** The most items, reports or assignments that the server takes in one request. */
export const maxEntries = 1_000;
/** Units of JSON text: well below the largest request that a server takes by default, 8 MB. */
export const maxUnits = 4_000_000;
