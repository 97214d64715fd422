/** What people do on the dashboard, whatever the browser: each action is carried out by its button, and its effect is asked of the server. */
import type { Page } from 'playwright-core';
import type { Client } from '../../src/client/index.ts';
import { data } from './api.ts';
import { failAll } from './dashboard.ts';
import type { TestDatabase } from './database.ts';
import { makeKey } from './keys.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** What a browser does for a person. */
export interface Hand {
  open(path: string): Promise<void>;
  /** Presses a button: of the row with this text, if there is one, or else of the open dialog, or else of the screen. */
  press(name: string, row?: string): Promise<void>;
  /** Waits until a dialog is open. */
  seesDialog(): Promise<void>;
  /** In the open dialog. */
  fill(label: string, text: string): Promise<void>;
  says(text: string): Promise<void>;
  chooseFile(name: string, text: string): Promise<void>;
  /** Drops a file there. */
  drop(selector: string, name: string, text: string): Promise<void>;
  /** Clicks so many pixels from the upper left corner. */
  click(selector: string, x: number, y: number): Promise<void>;
  /** Presses a key where the focus is, or first puts it there. */
  key(name: 'End' | 'Enter', selector?: string): Promise<void>;
  closeDialog(): Promise<void>;
}

/** Carries out a button's action: `fields` are what its dialog asks for. */
async function act(
  hand: Hand,
  name: string,
  { row, fields = {} }: { row?: string; fields?: Record<string, string> } = {},
) {
  await hand.press(name, row);
  await hand.seesDialog();
  for (const [label, text] of Object.entries(fields)) await hand.fill(label, text);
  await hand.press(name);
}

interface Place {
  readonly client: Client;
  readonly url: string;
  readonly db: TestDatabase;
  readonly receiver: Receiver;
  /** Unlike that of any other action, and of any other browser. */
  readonly type: string;
}

/** Returns what is then so: a value that is asked for until it is the other one. */
type Carry = (hand: Hand, place: Place) => Promise<readonly [ask: () => Promise<unknown>, is: unknown]>;

const later = () => new Date(Date.now() + 86_400_000);
const countOf =
  ({ client, type }: Pick<Place, 'client' | 'type'>) =>
  async () =>
    (await client.jobCount({ filter: { types: [type] } })).count;
const statusOf = (client: Client, id: string) => async () =>
  (await client.items(id)).nodes.map(({ status }) => status);

/** A tree of which all items have failed for good. */
async function bury({ client, url, type }: Place, count = 1) {
  const items = Array.from({ length: count }, (_, n) => ({ payload: { n } }));
  const { id } = await client.createJob({ type, sealed: true, maxFailuresPerItem: 0, items });
  await failAll(url, type, 'BAD', `It is bad for ${type}`);
  const [group] = await client.deadLetterGroups({ types: [type] });
  return { id, groupId: group?.id ?? '', itemId: (await client.items(id)).nodes[0]?.id ?? '' };
}

async function block({ client, url, type }: Place) {
  const items = [1, 2].map((n) => ({ payload: { n }, serializeKey: type }));
  const { id } = await client.createJob({
    type,
    sealed: true,
    maxFailuresPerItem: 0,
    serializeOnFailure: 'BLOCK',
    items,
  });
  await failAll(url, type, 'BAD', 'It is bad');
  return id;
}

async function schedule({ client, type }: Place) {
  await client.schedules.put({ name: type, cron: '0 3 * * *', template: { type } });
}

/** What a server needs to call the receiver of an action. */
export const calledBack = { JOBTREE_CALLBACK_NETWORKS: '127.0.0.0/8' };
/** It is away at first, and not to be called again before somebody says so. */
export const receiveCallbacks = () =>
  startReceiver({
    '/again': (response, nth) => response.writeHead(nth === 1 ? 503 : 204, { 'retry-after': '600' }).end(),
  });

/** Drops a file on what is there, in the page: no browser drags one for a test. */
export function dropIn(zone: Element, { name, text }: { name: string; text: string }): void {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name));
  for (const kind of ['dragover', 'drop'])
    zone.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
}

/** That of a person before a page of Playwright. */
export function handOf(page: Page, url: string): Hand {
  const dialog = page.locator('dialog[open]').last();
  return {
    open: (path) => page.goto(new URL(`dashboard/#${path}`, url).href).then(() => {}),
    async press(name, row) {
      const screen = row === undefined ? page : page.locator('.row[data-index]').filter({ hasText: row });
      const place = (await dialog.count()) > 0 ? dialog : screen;
      await place.getByRole('button', { name, exact: true }).first().click();
    },
    seesDialog: () => dialog.waitFor(),
    fill: (label, text) => dialog.getByLabel(label).first().fill(text),
    says: (text) => page.getByText(text).first().waitFor(),
    chooseFile: (name, text) =>
      page
        .locator('input[type=file]')
        .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) }),
    drop: (selector, name, text) => page.locator(selector).evaluate(dropIn, { name, text }),
    click: (selector, x, y) => page.locator(selector).click({ position: { x, y } }),
    async key(name, selector) {
      if (selector !== undefined) await page.locator(selector).focus();
      await page.keyboard.press(name);
    },
    async closeDialog() {
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    },
  };
}

export const actions: Readonly<Record<string, Carry>> = {
  'replays the failures of a tree': async (hand, place) => {
    const { id } = await bury(place, 2);
    await hand.open(`/trees/${id}`);
    await act(hand, 'Replay failures');
    await hand.says('2 items are tried again');
    return [statusOf(place.client, id), ['READY', 'READY']];
  },
  'replays the failures of a tree with corrected payloads': async (hand, place) => {
    const { id } = await bury(place, 2);
    await hand.open(`/trees/${id}`);
    await hand.press('Replay failures');
    await hand.seesDialog();
    await hand.fill('Change each payload', '{"to": "Ada"}');
    await hand.says('"to": "Ada"');
    await hand.press('Replay failures');
    const payloads = async () => (await place.client.items(id)).nodes.map(({ payload }) => payload);
    return [
      payloads,
      [
        { n: 0, to: 'Ada' },
        { n: 1, to: 'Ada' },
      ],
    ];
  },
  'replays all of one cause': async (hand, place) => {
    const { id, groupId } = await bury(place, 2);
    await hand.open(`/dead-letters/${groupId}`);
    await act(hand, 'Replay all');
    return [statusOf(place.client, id), ['READY', 'READY']];
  },
  'replays all of one cause with corrected payloads': async (hand, place) => {
    const { id, groupId } = await bury(place, 2);
    await hand.open(`/dead-letters/${groupId}`);
    await hand.press('Replay all');
    await hand.seesDialog();
    await hand.fill('Change each payload', '{"to": "Ada"}');
    await hand.says('"to": "Ada"');
    await hand.press('Replay all');
    const payloads = async () => (await place.client.items(id)).nodes.map(({ payload }) => payload);
    return [
      payloads,
      [
        { n: 0, to: 'Ada' },
        { n: 1, to: 'Ada' },
      ],
    ];
  },
  'replays all dead letters that match': async (hand, place) => {
    const { id } = await bury(place, 2);
    await hand.open(`/dead-letters?type=${place.type}`);
    await act(hand, 'Replay all that match');
    return [statusOf(place.client, id), ['READY', 'READY']];
  },
  'replays an item with a corrected payload': async (hand, place) => {
    const { itemId } = await bury(place);
    await hand.open(`/items/${itemId}`);
    await act(hand, 'Replay', { fields: { 'Payload, as JSON': '{"n": 7}' } });
    return [async () => (await place.client.item(itemId)).payload, { n: 7 }];
  },
  'discards all of one cause': async (hand, place) => {
    const { groupId } = await bury(place, 2);
    await hand.open(`/dead-letters/${groupId}`);
    await act(hand, 'Discard all');
    await hand.says('2 dead letters are discarded');
    return [() => place.client.deadLetterGroups({ types: [place.type] }), []];
  },
  'discards all dead letters that match': async (hand, place) => {
    await bury(place, 2);
    await hand.open(`/dead-letters?type=${place.type}`);
    await act(hand, 'Discard all that match');
    return [() => place.client.deadLetterGroups({ types: [place.type] }), []];
  },
  'replays what keeps a key, in the list of keys': async (hand, place) => {
    const id = await block(place);
    await hand.open('/keys');
    await act(hand, 'Replay', { row: place.type });
    return [statusOf(place.client, id), ['READY', 'BLOCKED']];
  },
  'discards what keeps a key, in the list of keys': async (hand, place) => {
    const id = await block(place);
    await hand.open('/keys');
    await act(hand, 'Discard', { row: place.type });
    return [statusOf(place.client, id), ['FAILED', 'READY']];
  },
  'discards what keeps a key, in the tree that waits for it': async (hand, place) => {
    const id = await block(place);
    await hand.open(`/trees/${id}`);
    await act(hand, 'Discard the failed item');
    return [statusOf(place.client, id), ['FAILED', 'READY']];
  },
  'adds a note to a cause': async (hand, { client, ...place }) => {
    const { groupId } = await bury({ client, ...place });
    await hand.open(`/dead-letters/${groupId}`);
    await act(hand, 'Note', { fields: { Note: 'We know' } });
    return [async () => (await client.deadLetterGroup(groupId)).note, 'We know'];
  },
  'cancels a tree': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type, items: [{}] });
    await hand.open(`/trees/${id}`);
    await act(hand, 'Cancel');
    return [statusOf(client, id), ['CANCELLED']];
  },
  'deletes a tree': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type, items: [{}] });
    await hand.open(`/trees/${id}`);
    await act(hand, 'Delete tree');
    return [countOf({ client, type }), 0];
  },
  'cancels all trees that match': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type, items: [{}] });
    await hand.open(`/?types=${type}`);
    await act(hand, 'Cancel all');
    return [statusOf(client, id), ['CANCELLED']];
  },
  'deletes all trees that match': async (hand, { client, type }) => {
    await client.createJob({ type, items: [{}] });
    await hand.open(`/?types=${type}`);
    await act(hand, 'Delete all');
    return [countOf({ client, type }), 0];
  },
  'seals a job': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type, items: [{}] });
    await hand.open(`/trees/${id}`);
    await act(hand, 'Seal');
    return [async () => (await client.job(id)).progress.sealed, true];
  },
  'adds an item': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type });
    await hand.open(`/trees/${id}`);
    await act(hand, 'Add item', { fields: { 'Payload, as JSON': '{"n": 1}' } });
    return [statusOf(client, id), ['READY']];
  },
  'changes an item': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type, items: [{ payload: 1, runAt: later() }] });
    const [item] = (await client.items(id)).nodes;
    await hand.open(`/items/${item?.id}`);
    await act(hand, 'Change', { fields: { 'Payload, as JSON': '2', Priority: '4' } });
    const read = async () => {
      const { payload, priority } = await client.item(item?.id ?? '');
      return { payload, priority };
    };
    return [read, { payload: 2, priority: 4 }];
  },
  'runs an item now': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type, items: [{ runAt: later() }] });
    const [item] = (await client.items(id)).nodes;
    await hand.open(`/items/${item?.id}`);
    await act(hand, 'Run now');
    return [statusOf(client, id), ['READY']];
  },
  'runs all items of a tree now that wait for a time': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type, items: [{ runAt: later() }, { runAt: later() }] });
    await hand.open(`/trees/${id}`);
    await act(hand, 'Run them now');
    return [statusOf(client, id), ['READY', 'READY']];
  },
  'cancels an item': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type, items: [{}, {}] });
    const [item] = (await client.items(id)).nodes;
    await hand.open(`/items/${item?.id}`);
    await act(hand, 'Cancel item');
    return [statusOf(client, id), ['CANCELLED', 'READY']];
  },
  'keeps a tree for another time': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type, items: [{}] });
    await hand.open(`/trees/${id}`);
    await act(hand, 'Change retention', { fields: { 'Days (empty: for ever)': '3' } });
    return [async () => (await client.job(id)).retentionSeconds, 3 * 86_400];
  },
  'pauses a type, and undoes it': async (hand, { client, type }) => {
    await client.createJob({ type, items: [{}] });
    await hand.open(`/queues?find=${type}`);
    await act(hand, 'Pause', { row: type });
    await hand.says('Done: Pause');
    await hand.press('Undo');
    await hand.says('Undone: Pause');
    return [async () => (await client.queues.get(type))?.paused, false];
  },
  'lets a type go on': async (hand, { client, type }) => {
    await client.queues.pause(type);
    await hand.open(`/queues/${type}`);
    await act(hand, 'Resume');
    return [async () => (await client.queues.get(type))?.paused, false];
  },
  'limits a type': async (hand, { client, type }) => {
    await client.createJob({ type, items: [{}] });
    await hand.open(`/queues/${type}`);
    await act(hand, 'Limit', { fields: { 'Items at a time': '3', 'Items per interval': '10' } });
    const read = async () => {
      const queue = await client.queues.get(type);
      return [queue?.concurrency, queue?.rate];
    };
    return [read, [3, { limit: 10, intervalMs: 1_000 }]];
  },
  'runs a schedule now': async (hand, place) => {
    await schedule(place);
    await hand.open('/schedules');
    await act(hand, 'Run now', { row: place.type });
    return [countOf(place), 1];
  },
  'skips the next occurrence': async (hand, place) => {
    await schedule(place);
    const next = async () => (await place.client.schedules.get(place.type))?.nextAt;
    const before = Date.parse((await next()) ?? '');
    await hand.open('/schedules');
    await act(hand, 'Skip next', { row: place.type });
    return [async () => Date.parse((await next()) ?? '') > before, true];
  },
  'pauses a schedule': async (hand, place) => {
    await schedule(place);
    await hand.open('/schedules');
    await act(hand, 'Pause', { row: place.type });
    return [async () => (await place.client.schedules.get(place.type))?.pausedAt != null, true];
  },
  'shares a tree, and revokes its links': async (hand, { client, type }) => {
    const { id } = await client.createJob({ type, items: [{}] });
    await hand.open(`/trees/${id}`);
    await act(hand, 'Share a progress page');
    await hand.says('Copy link');
    await hand.closeDialog();
    await act(hand, 'Revoke links');
    await hand.says('All links are revoked.');
    const revocations = async () =>
      (await client.auditEntries()).nodes.filter(({ action }) => action === 'revokeWatchTokens').length;
    return [revocations, 1];
  },
  'sends a callback again': async (hand, { client, receiver, type }) => {
    await client.callbacks.putEndpoint({ name: type, url: `http://127.0.0.1:${receiver.port}/again` });
    await client.createJob({ type, sealed: true, callbacks: [{ endpoint: type }] });
    await hand.open('/callbacks');
    await hand.says('status 503');
    await act(hand, 'Send again', { row: type });
    await hand.says('Delivered');
    const [first] = receiver.at('/again');
    return [async () => receiver.at('/again').map(({ text }) => text), [first?.text, first?.text]];
  },
  'revokes a key': async (hand, { url, db, type }) => {
    const { id } = await makeKey(db, ['producer'], { name: type });
    await hand.open('/api-keys');
    await act(hand, 'Revoke', { row: type });
    const isRevoked = async () => {
      const { apiKeys } = await data(url, '{ apiKeys { id revokedAt } }');
      return apiKeys.find((key: { id: string }) => key.id.endsWith(id)).revokedAt !== null;
    };
    return [isRevoked, true];
  },
  'opens an item of the strip by a click, and another by keyboard': async (hand, { client, type }) => {
    const items = ['first', 'middle', 'last'].map((payload) => ({ payload }));
    const { id } = await client.createJob({ type, items });
    await hand.open(`/trees/${id}`);
    await hand.says('3 of 3 items shown');
    await hand.click('.strip canvas', 5, 10);
    await hand.says('"first"');
    await hand.open(`/trees/${id}`);
    await hand.says('3 of 3 items shown');
    await hand.key('End', '[role=slider]');
    await hand.says('(1 to 3 of 3)');
    await hand.key('Enter');
    await hand.says('"last"');
    return [statusOf(client, id), ['READY', 'READY', 'READY']];
  },
  'stops an operation': async (hand, { client, db, type }) => {
    const { id } = await client.createJob({ type, items: [{}] });
    const holder = await db.connect();
    await holder.query('begin');
    await holder.query('select from jobtree.job where id = $1 for update', [id.slice(4)]);
    await hand.open(`/?types=${type}`);
    await act(hand, 'Delete all');
    await hand.says('Deletion of trees: 0 of 1');
    await hand.press('Stop');
    await hand.says('it was stopped before the other 1');
    await holder.query('rollback');
    await holder.end();
    return [countOf({ client, type }), 1];
  },
  'imports a file that is dropped': async (hand, { client, type }) => {
    await hand.open('/imports');
    await hand.says('Choose a file');
    await hand.drop('.drop', 'dropped.csv', 'id;customer\n1;Ada\n');
    await hand.seesDialog();
    await hand.fill('Type of the job', type);
    await hand.press('Import');
    await hand.says(`Tree ${type}`);
    return [countOf({ client, type }), 1];
  },
  'imports a file': async (hand, { client, type }) => {
    await hand.open('/imports');
    await hand.chooseFile('orders.csv', 'id;customer\n1;Ada\n2;Grace\n');
    await hand.seesDialog();
    await hand.fill('Type of the job', type);
    await hand.press('Import');
    await hand.says(`Tree ${type}`);
    const payloads = async () => {
      const [job] = (await client.jobs({ filter: { types: [type] } })).nodes;
      return (await client.items(job?.id ?? '')).nodes.length;
    };
    return [payloads, 2];
  },
};
