/** What fits into one request. */

/** The most items, reports or assignments that the server takes in one request. */
export const maxEntries = 1_000;
/** The most jobs, and items of all of them, that the server creates in one request. */
export const maxItemsOfCreation = 10_000;
export const maxJobsOfCreation = 10_000;
/** Units of JSON text: each may have three bytes, and the largest request that a server takes by default has 8 MB. */
export const maxUnits = 2_600_000;
