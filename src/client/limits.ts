/** What fits into one request. */

/** Items, reports, assignments: as many of a kind as the server takes at once. */
export const maxEntries = 1_000;
/** Units of JSON text: well below the largest request that a server takes by default, 25 MB. */
export const maxUnits = 4_000_000;
