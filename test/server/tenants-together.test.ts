/**
 * Random commands of two tenants in turns, over the API: each hears what it would hear if it were alone, on a server that knows of no tenants.
 * A failure prints the seed with which it repeats:
 *
 *     PROPERTY_RUNS   how many sequences of commands  (6)
 *     PROPERTY_SEED   the seed that was printed
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { startServer } from '../support/server.ts';
import { useServer } from '../support/use-server.ts';

const { db, app } = useServer({ JOBTREE_AUTH: 'keys' });

const type = fc.constantFrom('a', 'b');
const key = fc.option(fc.constantFrom('k', 'l'), { nil: null, freq: 2 });
const which = fc.nat({ max: 20 });
const worker = fc.constantFrom('v', 'w');
const items = fc.array(
  fc.record({ serializeKey: key, dedupeKey: fc.option(fc.constantFrom('x', 'y', 'z'), { nil: null }) }),
  { minLength: 1, maxLength: 4 },
);

const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), type, items, dedupeKey: key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('createFed' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('add' as const), which, items }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('seal' as const), which }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      type: fc.constantFrom('a', 'b', 'parent', 'child'),
      limit: fc.integer({ min: 1, max: 4 }),
      worker,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      which,
      outcome: fc.constantFrom('result' as const, 'failure' as const, 'permanent' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('heartbeat' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('setQueue' as const),
      type,
      paused: fc.boolean(),
      concurrency: fc.option(fc.integer({ min: 1, max: 3 }), { nil: null }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replay' as const), type }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('discard' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('schedule' as const), name: fc.constantFrom('s', 't') }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('look' as const) }) },
);
type Command = (typeof command extends fc.Arbitrary<infer T> ? T : never) & { do: string };

const policies = { backoffMs: [], maxFailuresPerItem: 1 };
const problem = '... on UserError { code message field }';
const itemFields =
  'id status serializeKey dedupeKey failureCount failures { code message worker } assignment { type worker } blockedBy { id }';

/** What one caller does on one server, and hears there. */
class Session {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #names = new Map<string, string>();
  readonly #jobs: string[] = [];
  readonly #assignments: string[] = [];
  readonly heard: string[] = [];

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  async #ask(query: string, variables: object = {}): Promise<any> {
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...this.#headers },
      body: JSON.stringify({ query, variables }),
    });
    return response.json();
  }

  /** Ids are what differs: each is called by when it was first heard. */
  #named(answer: unknown): string {
    return JSON.stringify(answer)
      .replaceAll(/"(Job|JobItem|Assignment|Operation|DeadLetterGroup):[^"]+"/g, (id, kind) => {
        if (!this.#names.has(id)) this.#names.set(id, `"${kind} ${this.#names.size}"`);
        return this.#names.get(id) as string;
      })
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'an id');
  }

  async #do(query: string, variables: object = {}): Promise<any> {
    const answer = await this.#ask(query, variables);
    this.heard.push(this.#named(answer));
    return Object.values(answer.data ?? {})[0];
  }

  async #create(input: object): Promise<void> {
    const made = await this.#do(
      `mutation ($input: JobInput!) { createJob(input: $input) { ... on CreateJobPayload { created job { id type dedupeKey items { nodes { ${itemFields} } } children { id type } } } ${problem} } }`,
      { input: { ...policies, ...input } },
    );
    if (made.created) this.#jobs.push(made.job.id);
  }

  async run(command: Command): Promise<void> {
    const job = 'which' in command ? this.#jobs[command.which % Math.max(1, this.#jobs.length)] : undefined;
    const assignment =
      'which' in command
        ? this.#assignments[command.which % Math.max(1, this.#assignments.length)]
        : undefined;
    switch (command.do) {
      case 'create':
        return this.#create({ type: command.type, dedupeKey: command.dedupeKey, items: command.items });
      case 'createFed':
        return this.#create({
          type: 'parent',
          items: [{ payload: { k: command.key } }, { payload: { k: 'k' } }],
          children: [{ ...policies, type: 'child', feed: { payload: 'payload', serializeKey: 'payload.k' } }],
        });
      case 'add':
        if (job === undefined) return;
        return this.#do(
          `mutation ($input: AddItemsInput!) { addItems(input: $input) { ... on AddItemsPayload { added entries { status itemId } } ${problem} } }`,
          { input: { jobId: job, items: command.items } },
        );
      case 'seal':
        if (job === undefined) return;
        return this.#do(
          `mutation ($id: ID!) { sealJob(input: { jobId: $id }) { ... on SealJobPayload { job { progress { itemCount succeeded failed } } } ${problem} } }`,
          { id: job },
        );
      case 'claim': {
        const { worker, limit, type } = command;
        const claimed = await this.#do(
          `mutation ($input: ClaimItemsInput!) { claimItems(input: $input) { ... on ClaimItemsPayload { assignments { id type worker attempt item { ${itemFields} } } limitedTypes } ${problem} } }`,
          { input: { worker, requests: [{ type, limit }] } },
        );
        this.#assignments.push(...claimed.assignments.map(({ id }: { id: string }) => id));
        return;
      }
      case 'report': {
        if (assignment === undefined) return;
        const outcome =
          command.outcome === 'result'
            ? { success: { result: { k: 'r' } } }
            : { failure: { code: 'E', message: 'no', permanent: command.outcome === 'permanent' } };
        return this.#do(
          `mutation ($reports: [ReportInput!]!) { reportOutcomes(input: { reports: $reports }) { ... on ReportOutcomesPayload { entries { status error { message } } } ${problem} } }`,
          { reports: [{ assignmentId: assignment, outcome }] },
        );
      }
      case 'release':
      case 'heartbeat': {
        if (assignment === undefined) return;
        const [field, payload] =
          command.do === 'release'
            ? ['releaseAssignments', 'ReleaseAssignmentsPayload']
            : ['heartbeat', 'HeartbeatPayload'];
        return this.#do(
          `mutation ($ids: [ID!]!) { ${field}(input: { assignmentIds: $ids }) { ... on ${payload} { entries { status } } ${problem} } }`,
          { ids: [assignment] },
        );
      }
      case 'setQueue': {
        const { do: _, ...input } = command;
        return this.#do(
          `mutation ($input: SetQueueInput!) { setQueue(input: $input) { ... on SetQueuePayload { queue { type paused concurrency ready running blocked } } ${problem} } }`,
          { input },
        );
      }
      case 'replay':
        return this.#operate('replayDeadLetters', 'ReplayDeadLettersPayload', { types: [command.type] });
      case 'discard':
        return this.#operate('discardDeadLetters', 'DiscardDeadLettersPayload', {
          diedFrom: '2020-01-01T00:00:00Z',
        });
      case 'schedule':
        return this.#do(
          `mutation ($name: String!) { putSchedule(input: { name: $name, times: { everyMs: 86400000 }, paused: true, template: { type: "a" } }) { ... on PutSchedulePayload { created changed schedule { id name template } } ${problem} } }`,
          { name: command.name },
        );
      case 'look':
        return this.look();
    }
  }

  async #operate(field: string, payload: string, filter: object): Promise<void> {
    const { operation } = await this.#do(
      `mutation ($filter: DeadLetterFilter!) { ${field}(input: { filter: $filter }) { ... on ${payload} { operation { id total } } ${problem} } }`,
      { filter },
    );
    await eventually(async () => {
      const { data } = await this.#ask('query ($id: ID!) { node(id: $id) { ... on Operation { status } } }', {
        id: operation.id,
      });
      expect(data.node.status).toBe('FINISHED');
    });
  }

  /** All that there is to see, but for what a fold or a clock changes. */
  async look(): Promise<void> {
    await this.#do(
      `{ jobs(filter: { rootsOnly: false }, order: OLDEST_FIRST) { nodes { id type dedupeKey items { nodes { ${itemFields} } } } } }`,
    );
    await this.#do('{ queues { type ready scheduled waiting blocked running paused concurrency } }');
    await this.#do('{ serializeKeys { key blocked head { id } } }');
    await this.#do('{ serializeKeys(keys: ["k", "l", "r"]) { key blocked head { id } } }');
    await this.#do(
      '{ pendingItemCount(filter: { statuses: [READY, BLOCKED, RUNNING, SCHEDULED, WAITING] }) }',
    );
    await this.#do('{ deadLetterCount(filter: { codes: ["E"] }) }');
    await this.#do(
      '{ schedules { nodes { id name template } edges { cursor } pageInfo { hasNextPage endCursor } } }',
    );
    await this.#do('{ workers { name types { type holds } } }');
    await this.#do('{ operations { nodes { id kind total done } } }');
    for (const query of [
      '{ heldItems { item { id } type worker attempt } }',
      '{ deadLetterGroups { type code pattern count items { id } } }',
    ]) {
      const [rows = []] = Object.values((await this.#ask(query)).data as Record<string, object[]>);
      // In no order, or in that of ids that follow from names.
      this.heard.push(...rows.map((row) => this.#named(row)).toSorted());
    }
  }
}

/** On a server and a database of its own. */
async function alone(commands: readonly Command[]): Promise<string[]> {
  const database = await createDatabase();
  const server = await startServer(database.url);
  try {
    const session = new Session(server.url);
    for (const command of commands) await session.run(command);
    await session.look();
    return session.heard;
  } finally {
    await server.close();
    await database.drop();
  }
}

const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 2 ** 31);

it('each of two tenants gets what it would get alone', async () => {
  console.log(`PROPERTY_SEED=${seed}`);
  let runs = 0;
  const turns = fc.array(fc.record({ who: fc.nat({ max: 1 }), command }), {
    minLength: 60,
    maxLength: 120,
    size: 'max',
  });
  const property = fc.asyncProperty(turns, async (given) => {
    runs++;
    const together = await Promise.all(
      ['one', 'other'].map(async (name) => {
        const made = await makeKey(db, ['admin'], { tenant: `${name}-${runs}` });
        return new Session(app.url, bearer(made.key));
      }),
    );
    for (const { who, command } of given) await together[who]?.run(command);
    for (const session of together) await session.look();
    for (const [who, { heard }] of together.entries()) {
      const own = given.flatMap((turn) => (turn.who === who ? turn.command : []));
      expect(heard).toEqual(await alone(own));
    }
  });
  await fc.assert(property, { seed, numRuns: Number(process.env.PROPERTY_RUNS ?? 6), endOnFailure: true });
}, 600_000);
