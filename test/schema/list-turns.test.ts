import {
  assertObjectType,
  type FragmentDefinitionNode,
  getNullableType,
  isCompositeType,
  isListType,
  isObjectType,
  type OperationDefinitionNode,
  parse,
} from 'graphql';
import { expect, it } from 'vitest';
import { ClientGoneError } from '../../src/errors.ts';
import { schema } from '../../src/schema/index.ts';

const entries = Array.from({ length: 1_000 }, (_, i) => ({ i }));

/** Lists in pages, in payloads of mutations and in events; each holds what its parent has under its name. */
const lists = [
  'JobConnection.edges',
  'JobResultsConnection.edges',
  'HeartbeatPayload.entries',
  'ClaimItemsPayload.assignments',
  'ReleaseAssignmentsPayload.entries',
  'JobTreeProgress.jobs',
].map((place) => {
  const [type = '', name = ''] = place.split('.');
  const { resolve } = assertObjectType(schema.getType(type)).getFields()[name] ?? {};
  const call = (turns?: number, length = entries.length, values = 1, engine = {}) => {
    const { definitions } = parse(
      `{ all { ${'value '.repeat(values - 1)} ... { ...F } } } fragment F on T { value }`,
    );
    const [operation, F] = definitions as [OperationDefinitionNode, FragmentDefinitionNode];
    const path = { prev: undefined, key: name, typename: type };
    const info = { fieldName: name, fieldNodes: operation.selectionSet.selections, fragments: { F }, path };
    return resolve?.({ [name]: entries.slice(0, length) }, {}, { turns, engine } as never, info as never);
  };
  return [place, call] as const;
});

it('every list of objects in the API has turns', () => {
  const without = Object.values(schema.getTypeMap()).flatMap((type) =>
    !isObjectType(type) || type.name.startsWith('__')
      ? []
      : Object.values(type.getFields()).filter(({ type: of, extensions }) => {
          const list = getNullableType(of);
          return (
            isListType(list) &&
            isCompositeType(getNullableType(list.ofType)) &&
            !extensions.pothosResolveWrapped
          );
        }),
  );
  expect(without).toEqual([]);
});

it.each(
  lists.flatMap(([place, resolve]) => [
    [place, 'an expensive operation', () => resolve(4)] as const,
    [place, 'many fields', () => resolve(undefined, entries.length, 61)] as const,
  ]),
)(
  'the event loop handles what else there is between the turns of %s with %s',
  async (_place, _why, resolve) => {
    const seen: string[] = [];
    let isDone = false;
    const others = () => {
      if (seen.at(-1) !== 'others') seen.push('others');
      if (!isDone) setImmediate(others);
    };
    const list = resolve() as (typeof entries)[number][];
    setImmediate(others);
    const done = list.map(async (entry) => {
      const { i } = await entry;
      if (i % 250 === 0) seen.push(`list ${i}`);
    });
    await Promise.all(done);
    isDone = true;
    expect(seen.slice(seen.indexOf('list 0'))).toEqual([
      'list 0',
      'others',
      'list 250',
      'others',
      'list 500',
      'others',
      'list 750',
    ]);
    expect(await Promise.all(list)).toEqual(entries);
  },
);

it.each(lists)('%s is completed at once if it costs little, or is short', (_, resolve) => {
  expect(resolve()).toEqual(entries);
  expect(resolve(5, 100)).toEqual(entries.slice(0, 100));
});

it.each(lists)(
  '%s that nobody waits for any more fails as a whole, with one error',
  async (place, resolve) => {
    const others = [resolve(4), resolve(4)] as Promise<unknown>[][];
    const list = resolve(4, entries.length, 1, { isGone: () => true }) as Promise<unknown>[];
    const reasons = await Promise.all(list.map((entry) => entry.catch((reason: unknown) => reason)));
    expect(new Set(reasons).size).toBe(1);
    expect(reasons[0]).toMatchObject({
      path: [place.split('.')[1]],
      originalError: expect.any(ClientGoneError),
    });
    await Promise.all(others.flat());
  },
);
