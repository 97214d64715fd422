/** Audit subjects for inputs that are more than an id or a name: no payloads, no secrets, and nothing that may contain one. */

import type { GivenFile } from '../files/file-input.ts';
import type { GivenJob } from '../jobs/inputs.ts';

/** The settings that are given, with their values. */
export function toSettings(change: object): string[] {
  return Object.entries(change)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`);
}

/** Often derived from data in payloads. */
const hidden = new Set(['dedupeKeys', 'dedupeKeyPrefix']);

/** The conditions of a filter, single ones first, then each of its ids and names. A time that is none, which is refused later, is null. */
export function toConditions(filter: object): string[] {
  const given = Object.entries(filter).filter(([, value]) => value != null);
  const [lists, others] = [
    given.filter(([, value]) => Array.isArray(value)),
    given.filter(([, value]) => !Array.isArray(value)),
  ];
  return [
    ...others.map(([name, value]) =>
      hidden.has(name) ? name : `${name} ${value instanceof Date ? value.toJSON() : value}`,
    ),
    ...lists.flatMap(([name, values]) =>
      hidden.has(name) ? [`${name} ${values.length}`] : values.map((value: string) => `${name} ${value}`),
    ),
  ];
}

/** Only the host, since paths and parameters of URLs may be secret. */
export function toHost(url: string): string[] {
  return URL.canParse(url) ? [`host ${new URL(url).host}`] : [];
}

/** Where the rows come from: the id of an upload, or the one that is made of a part of the request. */
export function toSource({ source: { uploadId, file } }: GivenFile): string {
  return uploadId ?? (file == null ? 'no file' : `Upload:${file.upload.id}`);
}

/** For each job of a tree that imports a file, its type and where the rows come from. */
export function* toImports({ type, file, children }: GivenJob): Iterable<string> {
  if (file != null) yield* [`type ${type}`, toSource(file)];
  for (const child of children ?? []) yield* toImports(child);
}
