/**
 * Enum and schema bombs: what is refused because it does not fit the schema is as long as a request may be, or as many as there may be. GraphQL compares
 * what it does not know with all that it does, and quotes it.
 */
import type { Operation } from './attacker.ts';
import { type Attack, aliases, times } from './attacks.ts';

const mb = 1_000_000;
const filtered = 'query ($filter: JobFilter) { jobs(filter: $filter) { nodes { id } } }';
const report = 'mutation ($input: ReportOutcomesInput!) { reportOutcomes(input: $input) { __typename } }';
const keys = (count: number) => times(count, (i) => `"key${i}":1`).join(',');
const byStatus = (value: string): Operation => ({
  query: filtered,
  variables: `{"filter":{"statuses":${value}}}`,
});
const byStatusInText = (value: string): Operation => ({
  query: `{ jobs(filter: { statuses: ${value} }) { nodes { id } } }`,
});
const reports = (count: number, text: string): Operation => ({
  query: report,
  variables: `{"input":{"reports":[${times(count, () => `{"assignmentId":"x","outcome":{"success":{"result":"${text}"},"failure":{"message":"${text}"}}}`).join(',')}]}}`,
});

const bombs: [title: string, make: () => Operation][] = [
  ['an enum value of 7.9 MB', () => byStatus(`"${'S'.repeat(7.9 * mb)}"`)],
  ['an enum value of 7.7 MB of names of values', () => byStatus(`"${'RUNNING'.repeat(1.1 * mb)}"`)],
  ['a list with a text of 7.9 MB for an enum value', () => byStatus(`["${'S'.repeat(7.9 * mb)}"]`)],
  ['an object of 50,000 keys for an enum value', () => byStatus(`{${keys(50_000)}}`)],
  ['an object with a text of 7.9 MB for an enum value', () => byStatus(`{"a":"${'S'.repeat(7.9 * mb)}"}`)],
  ...(['9007199254740993', '0.10000000000000001', '0.14285714285714285', '1e-300', '1.25'] as const).flatMap(
    (number): [string, () => Operation][] =>
      [9_900, (7.9 * mb) / (number.length + 1)].map((count) => [
        `${Math.floor(count).toLocaleString('en')} times ${number}`,
        () => byStatus(`[${times(Math.floor(count), () => number).join(',')}]`),
      ]),
  ),
  ['a number of 7.9 MB for an enum value', () => byStatus('9'.repeat(7.9 * mb))],
  [
    '9,999 enum values of 780 characters',
    () => ({
      query: 'query ($s: [ItemStatus!]) { jobs { nodes { items(statuses: $s) { nodes { id } } } } }',
      variables: `{"s":[${times(9_999, (i) => `"${i}${'S'.repeat(780)}"`).join(',')}]}`,
    }),
  ],
  [
    'an enum value of 7.9 MB in a variable of its own',
    () => ({
      query: 'query ($order: JobOrder!) { jobs(orderBy: $order) { nodes { id } } }',
      variables: `{"order":"${'S'.repeat(7.9 * mb)}"}`,
    }),
  ],
  [
    'an enum value of 7.9 MB in a subscription',
    () => ({
      query:
        'subscription ($s: [ItemStatus!]) { jobProgress(jobId: "x") { job { items(statuses: $s) { nodes { id } } } } }',
      variables: `{"s":["${'S'.repeat(7.9 * mb)}"]}`,
    }),
  ],
  ['a text of 240 kB for an enum value in the operation', () => byStatusInText(`"${'S'.repeat(0.24 * mb)}"`)],
  [
    'a block of 120,000 lines for an enum value in the operation',
    () => byStatusInText(`"""${'S\n'.repeat(0.12 * mb)}"""`),
  ],
  ['an enum value of 240 kB in the operation', () => byStatusInText('S'.repeat(0.24 * mb))],
  [
    'an object with a text of 240 kB for an enum value in the operation',
    () => byStatusInText(`{ a: ["${'S'.repeat(0.24 * mb)}"] }`),
  ],
  ['a list of 9,000 for an enum value in the operation', () => byStatusInText(`[${'S '.repeat(9_000)}]`)],
  [
    'ten texts of 24 kB for enum values in the operation',
    () => ({
      query: `{ ${aliases(10, (i) => `a${i}: jobs(filter: { statuses: "${'S'.repeat(0.024 * mb)}" }) { nodes { id } }`)} }`,
    }),
  ],
  [
    'a text of 240 kB as the default of an enum',
    () => ({
      query: `query ($f: JobFilter = { statuses: "${'S'.repeat(0.24 * mb)}" }) { jobs(filter: $f) { nodes { id } } }`,
    }),
  ],
  [
    'a text of 240 kB in a directive',
    () => ({ query: `{ __typename @include(if: "${'t'.repeat(0.24 * mb)}") }` }),
  ],
  ['two outcomes of 3.9 MB in one', () => reports(1, 'S'.repeat(3.9 * mb))],
  ['two outcomes of 3.9 kB in each of a thousand', () => reports(1_000, 'S'.repeat(3_900))],
  [
    'an instant of 7.9 MB',
    () => ({
      query: filtered,
      variables: `{"filter":{"idleSince":"2026-01-01T00:00:00.${'0'.repeat(7.9 * mb)}"}}`,
    }),
  ],
  [
    'a Boolean of 7.9 MB',
    () => ({
      query: 'query ($b: Boolean!) { __typename @include(if: $b) }',
      variables: `{"b":"${'t'.repeat(7.9 * mb)}"}`,
    }),
  ],
  [
    'a value of 7.9 MB of a type that does not exist',
    () => ({
      query: 'query ($b: JobFiltre) { jobs(filter: $b) { nodes { id } } }',
      variables: `{"b":"${'t'.repeat(7.9 * mb)}"}`,
    }),
  ],
  [
    'the name of an operation of 7.9 MB',
    () => ({
      query: 'query a { __typename } query b { __typename }',
      operationName: 'a'.repeat(7.9 * mb),
    }),
  ],
  [
    'names of 200 characters that do not exist',
    () => ({
      query: `query (${aliases(100, (i) => `$v${i}: ${'T'.repeat(190)}${i}`)}) { ${aliases(100, (i) => `${'f'.repeat(190)}${i}(${'a'.repeat(190)}: 1)`)} ...${'g'.repeat(200)} __typename @${'d'.repeat(200)} jobs(filter: { ${aliases(1_000, (i) => `${'k'.repeat(190)}${i}: 1`)} }) { nodes { id } } }`,
    }),
  ],
];

export const schemaBombs: readonly Attack[] = bombs.map(([title, make]) => ({
  title,
  run: (attacker) => attacker.refused(make()),
}));
