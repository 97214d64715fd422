/** What the audit says of inputs that are more than an id or a name: no payload, no secret, and nothing that may hold one. */

/** What is set, and to what. */
export function toSettings(change: object): string[] {
  return Object.entries(change)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`);
}

/** Made of what is in payloads, often. */
const hidden = new Set(['dedupeKeys']);

/** What a filter asks for: each of its ids and names, after what bounds it. */
export function toConditions(filter: object): string[] {
  const given = Object.entries(filter).filter(([, value]) => value != null);
  const [lists, others] = [
    given.filter(([, value]) => Array.isArray(value)),
    given.filter(([, value]) => !Array.isArray(value)),
  ];
  return [
    ...others.map(([name, value]) => `${name} ${value instanceof Date ? value.toISOString() : value}`),
    ...lists.flatMap(([name, values]) =>
      hidden.has(name) ? [`${name} ${values.length}`] : values.map((value: string) => `${name} ${value}`),
    ),
  ];
}

/** Paths and parameters of URLs may be secret. */
export function toHost(url: string): string[] {
  return URL.canParse(url) ? [`host ${new URL(url).host}`] : [];
}
