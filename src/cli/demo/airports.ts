/** The second part of the demonstration: a CSV file, line by line, worked on by several processes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, defineType, PermanentError } from '../../client/index.ts';
import { count, seconds } from '../figures.ts';
import { addBatches, inBatches } from '../import/add-rows.ts';
import { openInput } from '../import/input.ts';
import { readRows } from '../import/rows.ts';
import { check, type Outcome } from './outcome.ts';
import { watchTree } from './watch-tree.ts';

interface Airport {
  readonly iata: string;
  readonly latitude: string;
  readonly longitude: string;
}

interface NearestHub {
  readonly hub: string;
  readonly km: number;
}

interface Worked extends NearestHub {
  /** The process that did it. */
  readonly pid: number;
}

export const nearestHub = defineType<Airport, Worked>('nearestHub');

const hubs: Record<string, Place> = {
  ANC: { latitude: 61.174, longitude: -149.996 },
  ATL: { latitude: 33.64, longitude: -84.427 },
  DEN: { latitude: 39.858, longitude: -104.667 },
  DFW: { latitude: 32.896, longitude: -97.037 },
  HNL: { latitude: 21.319, longitude: -157.922 },
  JFK: { latitude: 40.64, longitude: -73.779 },
  LAX: { latitude: 33.943, longitude: -118.408 },
  MIA: { latitude: 25.793, longitude: -80.291 },
  ORD: { latitude: 41.98, longitude: -87.904 },
  SEA: { latitude: 47.449, longitude: -122.309 },
};

interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

export const handleNearestHub = nearestHub.handler(async (airport) => {
  await pause(60); // so that a person can see the bar move
  return { ...findNearestHub(airport), pid: process.pid };
});

function findNearestHub(airport: Airport): NearestHub {
  const place = { latitude: Number(airport.latitude), longitude: Number(airport.longitude) };
  if (!(Math.abs(place.latitude) <= 90 && Math.abs(place.longitude) <= 180)) {
    throw new PermanentError(`${airport.iata} has no valid coordinates.`, { code: 'BAD_COORDINATES' });
  }
  let nearest: NearestHub = { hub: '', km: Number.POSITIVE_INFINITY };
  for (const [hub, at] of Object.entries(hubs)) {
    const km = Math.round(distanceKm(place, at));
    if (km < nearest.km) nearest = { hub, km };
  }
  return nearest;
}

/** Along a great circle (haversine). */
function distanceKm(from: Place, to: Place): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180;
  const dLatitude = radians(to.latitude - from.latitude) / 2;
  const dLongitude = radians(to.longitude - from.longitude) / 2;
  const a =
    Math.sin(dLatitude) ** 2 +
    Math.cos(radians(from.latitude)) * Math.cos(radians(to.latitude)) * Math.sin(dLongitude) ** 2;
  return 2 * 6_371 * Math.asin(Math.sqrt(a));
}

/** The airports of the United States, published by its government: https://catalog.data.gov/dataset/airports-5e97a */
const file = join(import.meta.dirname, 'airports.csv');

export async function runAirports(client: Client, signal: AbortSignal): Promise<Outcome> {
  const startedAt = performance.now();
  const { id } = await client.createJob(nearestHub.job());
  const input = await openInput(file, signal);
  let rows = 0;
  const importing = addBatches({
    client,
    jobId: id,
    batches: inBatches(readRows(input, 'csv', ',')),
    rows: { keyPrefix: 'line ', fileName: file },
    before: { added: 0, duplicates: 0 },
    onAdded: ({ added }) => {
      rows = added;
    },
    signal,
  }).then(() => client.sealJob(id, { signal }));
  const watching = watchTree(client, id, new Map([[id, nearestHub.type]]), signal);
  const [[job]] = await Promise.all([watching, importing]);
  const ms = performance.now() - startedAt;

  const byProcess = new Map<number, number>();
  let farthest = { iata: '', hub: '', km: 0 };
  let wrong = 0;
  let results = 0;
  for await (const { payload, result } of client.results<Airport, Worked>(id)) {
    const { hub, km, pid } = result;
    const expected = findNearestHub(payload);
    if (hub !== expected.hub || km !== expected.km) wrong++;
    if (km > farthest.km) farthest = { iata: payload.iata, hub, km };
    byProcess.set(pid, (byProcess.get(pid) ?? 0) + 1);
    results++;
  }
  const shares = [...byProcess].map(([pid, items]) => `${pid} did ${count(items)}`);
  return {
    report: [
      `  ${count(results)} results in ${seconds(ms)}: process ${shares.join(', process ')}`,
      `  farthest from a hub: ${farthest.iata}, ${count(farthest.km)} km from ${farthest.hub}`,
    ],
    problems: [
      ...check('rows', rows, (await readFile(file, 'utf8')).trimEnd().split('\n').length - 1),
      ...check('items that succeeded', job?.succeeded ?? 0, rows),
      ...check('results', results, rows),
      ...check('wrong results', wrong, 0),
      ...(byProcess.size < 2 ? ['only one process did the work'] : []),
    ],
  };
}
