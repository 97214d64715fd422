/** Schemas are read and compiled when they are needed first. */
import { expect, it, vi } from 'vitest';
import { addItems } from '../../../src/domain/items/add-items.ts';
import { putTypeSchema } from '../../../src/domain/types/put-type-schema.ts';
import { newType, useEngine } from '../../support/engine.ts';

const t = useEngine();

it('a schema that many calls need at once is read and compiled once', async () => {
  const type = newType();
  const { [type]: jobId = '' } = await t.create({ type });
  await putTypeSchema(t.engine, { type, version: 1, payload: { type: 'integer' } });
  const call = vi.spyOn(t.engine.database, 'call');
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => addItems(t.engine, jobId, [{ payload: n }], { seal: false })),
  );
  expect(answers.flat().map(({ status }) => status)).toEqual(Array(50).fill('ADDED'));
  const reads = call.mock.calls.filter(([what]) => typeof what === 'object' && what.name === 'read_schema');
  expect(reads).toHaveLength(1);
});
