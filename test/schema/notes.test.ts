/** What workers note of items, over the API. */
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { data } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer();

let types = 0;

/** A job of two items which a worker has. */
async function held() {
  const type = `notes-${++types}`;
  const client = createClient({ url: app.url });
  try {
    const { id } = await client.createJob({ type, items: [{}, {}], sealed: true });
    return { id, assignments: await client.claimItems('w', [{ type, limit: 2 }]) };
  } finally {
    await client.close();
  }
}

const at = '2026-11-22T10:00:00.000Z';

const noteItems = async (notes: object[]) =>
  (
    await data(
      app.url,
      `mutation ($notes: [ItemNoteInput!]!) {
        noteItems(input: { notes: $notes }) { ... on NoteItemsPayload { noted } ... on InvalidInputError { code field } }
      }`,
      { notes },
    )
  ).noteItems;

const notesOf = async (id: string) =>
  (
    await data(app.url, `{ job(id: "${id}") { items { edges { node { note log { attempt at text } } } } } }`)
  ).job.items.edges.map(({ node }: { node: unknown }) => node);

it('keeps notes and logs of held items, and a repetition changes nothing', async () => {
  const { id, assignments } = await held();
  const [a, b] = assignments;
  const notes = [
    {
      assignmentId: a?.id,
      note: 'half of it',
      log: [
        { at, text: 'one' },
        { at, text: 'two' },
      ],
    },
    { assignmentId: b?.id, note: '' },
  ];
  const log = [
    { attempt: 1, at, text: 'one' },
    { attempt: 1, at, text: 'two' },
  ];
  for (const _ of [1, 2]) {
    expect(await noteItems(notes)).toEqual({ noted: 2 });
    expect(await notesOf(id)).toEqual([
      { note: 'half of it', log },
      { note: null, log: [] },
    ]);
  }
  // What is left out stays.
  expect(await noteItems([{ assignmentId: a?.id, note: 'all of it' }])).toEqual({ noted: 1 });
  expect(await notesOf(id)).toMatchObject([{ note: 'all of it', log }, {}]);
  expect(await noteItems([{ assignmentId: a?.id, log: [{ at, text: 'new' }] }])).toEqual({ noted: 1 });
  expect(await notesOf(id)).toMatchObject([{ note: 'all of it', log: [{ text: 'new' }] }, {}]);
});

it('keeps the last fifty lines of all attempts, the oldest first', async () => {
  const { id, assignments } = await held();
  const [a, b] = assignments;
  const lines = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ at, text: String(from + i) }));
  expect(await noteItems([{ assignmentId: a?.id, log: lines(0, 50) }])).toEqual({ noted: 1 });
  const client = createClient({ url: app.url });
  await client.reportOutcomes([
    { assignmentId: a?.id ?? '', failure: { code: 'E', message: 'no', retryAfterMs: 0 } },
  ]);
  const [again] = await client.claimItems('w', [{ type: `notes-${types}`, limit: 1 }]);
  await client.close();
  expect(again?.itemId).toBe(a?.itemId);
  const notes = [
    { assignmentId: again?.id, log: lines(50, 20) },
    { assignmentId: b?.id, note: 'b' },
  ];
  for (const _ of [1, 2]) expect(await noteItems(notes)).toEqual({ noted: 2 });
  const [{ log }] = await notesOf(id);
  expect(log.map(({ attempt, text }: { attempt: number; text: string }) => [attempt, text])).toEqual([
    ...lines(20, 30).map(({ text }) => [1, text]),
    ...lines(50, 20).map(({ text }) => [2, text]),
  ]);
});

it('ignores items of a job that is cancelled, while it still has them', async () => {
  const { id, assignments } = await held();
  const client = await db.connect();
  onTestFinished(() => client.end());
  await client.query('begin');
  await client.query('select jobtree.cancel_job($1, 0)', [id.slice(4)]);
  const { rows } = await client.query(
    `select jobtree.note_items(array[jobtree.lease_id($1)], array[jobtree.assignment_number($1)], '{late}', '{null}') as noted`,
    [assignments[0]?.id.replace('Assignment:', '')],
  );
  expect(rows).toEqual([{ noted: 0 }]);
  await client.query('rollback');
});

it('ignores items that are no longer held, and accepts the others', async () => {
  const { id, assignments } = await held();
  const client = createClient({ url: app.url });
  const [a, b] = assignments;
  await client.reportOutcomes([{ assignmentId: a?.id ?? '', result: 1 }]);
  const notes = [a?.id, b?.id, 'Assignment:019a1b2c-0000-7000-8000-000000000001'].map((assignmentId) => ({
    assignmentId,
    note: 'late',
  }));
  expect(await noteItems(notes)).toEqual({ noted: 1 });
  expect(await notesOf(id)).toMatchObject([{ note: null }, { note: 'late' }]);
  await client.deleteJob(id);
  await client.close();
  expect(await noteItems(notes)).toEqual({ noted: 0 });
  await eventually(async () =>
    expect(await db.query('select from jobtree.item_note where job_id = $1', [id.slice(4)])).toEqual([]),
  );
});

it.each([
  ['a note of 501 characters', { note: 'x'.repeat(501) }, 'notes[0].note'],
  ['a note with NUL', { note: '\0' }, 'notes[0].note'],
  ['51 lines', { log: Array(51).fill({ at, text: 'x' }) }, 'notes[0].log'],
  ['a line of 501 characters', { log: [{ at, text: 'x'.repeat(501) }] }, 'notes[0].log[0].text'],
])('refuses %s', async (_, note, field) => {
  const { assignments } = await held();
  expect(await noteItems([{ assignmentId: assignments[0]?.id, ...note }])).toEqual({
    code: 'INVALID_INPUT',
    field,
  });
});

it.each([0, 1_001])('refuses %i notes', async (count) => {
  const { assignments } = await held();
  const notes = Array(count).fill({ assignmentId: assignments[0]?.id, note: 'x' });
  expect(await noteItems(notes)).toEqual({ code: 'INVALID_INPUT', field: 'notes' });
});

it('refuses lines with invalid times, or too many of them', async () => {
  const { id, assignments } = await held();
  const assignmentId = assignments[0]?.id;
  for (const wrong of ['2026-02-31T10:00:00Z', '+275760-09-13T00:00:00Z', '1969-12-31T23:59:59Z']) {
    const log = [
      { at, text: 'good' },
      { at: wrong, text: 'bad' },
    ];
    expect(await noteItems([{ assignmentId, log }])).toEqual({
      code: 'INVALID_INPUT',
      field: 'notes[0].log[1].at',
    });
  }
  expect((await notesOf(id))[0].log).toEqual([]);
});
