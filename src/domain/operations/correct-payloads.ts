/**
 * Replays that correct each payload by a JSON merge patch. The database applies it; the server looks before each batch at what it makes of the payloads,
 * and has those items skipped that could not have been added with theirs.
 */

import type { Statement } from '../../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import type { Checked } from '../types/type-schemas.ts';
import { isTextDeeperThan, JsonText } from '../values/json-text.ts';
import { maxJsonDepth } from '../values/limits.ts';
import { runBatch, type Step } from './run-operation.ts';

interface Batch {
  readonly after_job_id: string;
  readonly after_position: number;
  readonly job_ids: readonly string[];
  readonly positions: readonly number[];
  readonly types: readonly string[];
  readonly payloads: readonly string[];
  readonly fits: readonly boolean[];
}

/**
 * Where an operation is, and what its patch makes of the payloads of its next batch, in order: at most 4 MB of them, or one. A patch does not fit a
 * payload that is neither an object nor null. No row if there is no such operation.
 */
const patchedPayloads: Statement = {
  name: 'patched_payloads',
  text: `select o.next_job_id as after_job_id, o.next_position as after_position, i.*
    from jobtree.operation o
    cross join lateral (
      select coalesce(array_agg(i.job_id order by i.n), '{}') as job_ids, coalesce(array_agg(i.position order by i.n), '{}') as positions,
        coalesce(array_agg(i.type order by i.n), '{}') as types,
        coalesce(array_agg(jobtree.merge_patch(i.payload, o.payload_patch)::text order by i.n), '{}') as payloads,
        coalesce(array_agg(coalesce(json_typeof(i.payload), 'null') in ('object', 'null') order by i.n), '{}') as fits
      from (
        select m.job_id, m.position, j.type, i.payload, row_number() over w as n, sum(i.payload_bytes) over w - i.payload_bytes as bytes_before
        from jobtree.matching_dead_letters(o, 1000) m
        join jobtree.job j on j.id = m.job_id
        join jobtree.job_item i on i.job_id = m.job_id and i.position = m.position
        window w as (order by m.job_id, m.position rows unbounded preceding)
      ) i
      where i.bytes_before < 4000000
    ) i
    where o.id = $1`,
};

export const runCorrection: Step = async (engine, id) => {
  const [batch] = await engine.database.call<Batch>(patchedPayloads, id);
  if (batch === undefined) return 'WAITING';
  const problems = await problemsOf(engine, batch);
  const valid: Record<string, number[]> = {};
  for (const [i, position] of batch.positions.entries()) {
    if (problems[i] !== undefined) continue;
    valid[batch.job_ids[i] ?? ''] ??= [];
    valid[batch.job_ids[i] ?? '']?.push(position);
  }
  const checked = {
    afterJobId: batch.after_job_id,
    afterPosition: batch.after_position,
    toJobId: batch.job_ids.at(-1),
    toPosition: batch.positions.at(-1),
    valid,
    problem: problems.find((problem) => problem !== undefined),
  };
  return runBatch(engine, id, Math.max(1, batch.positions.length), JSON.stringify(checked));
};

/** Why each item can't have its new payload; undefined if it can. */
async function problemsOf(
  { schemas, limits: { maxJsonBytes } }: Engine,
  { types, payloads, fits }: Batch,
): Promise<readonly (string | undefined)[]> {
  const problems = payloads.map((text, i) => {
    if (fits[i] !== true) return 'payload is not an object, which a patch could change.';
    const bytes = Buffer.byteLength(text);
    if (bytes > maxJsonBytes)
      return `payload would have ${bytes} bytes of JSON; the limit is ${maxJsonBytes}.`;
    if (isTextDeeperThan(text, maxJsonDepth))
      return `payload would be nested more than ${maxJsonDepth} levels deep.`;
    return undefined;
  });
  if (!(await schemas.any('payload'))) return problems;
  const values = payloads.map(
    (text, i): Checked => ({
      type: types[i] ?? '',
      field: 'payload',
      value: new JsonText(text),
      length: text.length,
    }),
  );
  // However much work that is: each value has its own limit.
  const mismatches = await schemas.check('payload', values, Number.POSITIVE_INFINITY);
  return problems.map((problem, i) => problem ?? mismatches[i]?.message);
}
