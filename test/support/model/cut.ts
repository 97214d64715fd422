/** Transactions that are cut: what runs in them, and what runs beside them until then. */
import fc from 'fast-check';
import { claimItems } from '../../../src/domain/claims/claim-items.ts';
import { promoteBlocked } from '../../../src/domain/claims/sweep.ts';
import { foldProgress } from '../../../src/domain/progress/fold-progress.ts';
import { failure, jobOf, lines, pick, some, success, toItems, treeOf, types } from './inputs.ts';
import type { Model, ModelReport } from './model.ts';
import { add } from './operations.ts';
import type { Statement, System } from './system.ts';

export const cutKind = fc.constantFrom(
  'CLAIM',
  'SUCCEED',
  'FAIL',
  'HEARTBEAT',
  'RELEASE',
  'SWEEP',
  'PROMOTE',
  'FOLD',
  'ADD',
  'SEAL',
  'CANCEL',
  'DELETE',
  'CREATE',
  'PROMOTE_BLOCKED',
  'CANCEL_ITEMS',
  'PROMOTE_ITEMS',
  'REPLAY',
);
export type CutKind =
  | 'CLAIM'
  | 'SUCCEED'
  | 'FAIL'
  | 'HEARTBEAT'
  | 'RELEASE'
  | 'SWEEP'
  | 'PROMOTE'
  | 'FOLD'
  | 'ADD'
  | 'SEAL'
  | 'CANCEL'
  | 'DELETE'
  | 'CREATE'
  | 'PROMOTE_BLOCKED'
  | 'CANCEL_ITEMS'
  | 'PROMOTE_ITEMS'
  | 'REPLAY';

/** A call of a stored function that is never committed. */
export function toStatement(model: Model, kind: CutKind, from: number): Statement {
  const ids = some(model, from, 'SEVERAL').slice(0, 100);
  const job = jobOf(model, from)?.id ?? crypto.randomUUID();
  const root = treeOf(model, from)?.root.id ?? crypto.randomUUID();
  const reports = (make: (id: string, i: number) => ModelReport) => JSON.stringify(ids.map(make));
  switch (kind) {
    case 'CLAIM':
      return [
        'select * from jobtree.claim_items($1, $2, $3)',
        ['cut'],
        [pick(types, from)],
        [1 + (from % 200)],
      ];
    case 'SUCCEED':
      return ['select * from jobtree.report_outcomes($1)', reports((id, i) => success(model, id, i))];
    case 'FAIL':
      return ['select * from jobtree.report_outcomes($1)', reports((id) => failure(id, from % 2 === 0))];
    case 'HEARTBEAT':
      return ['select * from jobtree.heartbeat($1)', ids];
    case 'RELEASE':
      return ['select * from jobtree.release_assignments($1)', ids];
    case 'SWEEP':
      return ['select * from jobtree.sweep_leases()'];
    case 'PROMOTE':
      return ['select * from jobtree.promote_due()'];
    case 'FOLD':
      return ['select * from jobtree.fold_trees(array[$1::uuid], array[0])', root];
    case 'ADD':
      return [
        'select * from jobtree.add_items($1, $2)',
        job,
        JSON.stringify(toItems({ size: 1 + (from % 50), specs: from % 3 > 0 ? lines : [] })),
      ];
    case 'SEAL':
      return ['select * from jobtree.seal_job($1)', job];
    case 'CANCEL':
      return ['select * from jobtree.cancel_job($1)', job];
    case 'DELETE':
      return [
        'select jobtree.delete_job($1), jobtree.fold_trees(array[$1::uuid], array[0]), jobtree.delete_trees(array[$1::uuid])',
        root,
      ];
    case 'CREATE':
      return [
        'select * from jobtree.create_job($1)',
        JSON.stringify({ type: 'a', items: toItems({ size: 1 + (from % 10), specs: lines }) }),
      ];
    case 'PROMOTE_BLOCKED':
      return ['select * from jobtree.promote_blocked()'];
    case 'CANCEL_ITEMS':
    case 'PROMOTE_ITEMS':
    case 'REPLAY':
      return [
        'select r.* from jobtree.start_operation($1, $2) s cross join lateral jobtree.run_operation(s.operation_id) r',
        kind.replace('_ITEMS', ''),
        JSON.stringify({ types: [pick(types, from)] }),
      ];
  }
}

/** Beside an open transaction: what has a definite answer once that is gone, and a claim, which passes by what is locked. */
export async function beside(
  model: Model,
  system: System,
  at: number,
  what: string,
  from: number,
): Promise<void> {
  const engine = system.engines[at] as System['engines'][0];
  switch (what) {
    case 'CLAIM': {
      const type = pick(types, from) as string;
      const held = await claimItems(engine, 'beside', [{ type, limit: 1 + (from % 150) }]);
      for (const assignment of held) system.hold(model, assignment, 'beside');
      return;
    }
    case 'REPORT':
      return system.report(
        model,
        engine,
        some(model, from, 'SEVERAL').map((id, i) => success(model, id, i)),
      );
    case 'FAIL':
      return system.report(
        model,
        engine,
        some(model, from, 'HALF').map((id) => failure(id, false)),
      );
    case 'ADD':
      return add(
        model,
        system,
        at,
        from,
        { size: 1 + (from % 20), specs: [{ key: 1, priority: null, due: null, line: null }, ...lines] },
        false,
      );
    case 'FOLD': {
      const tree = treeOf(model, from);
      if (tree === undefined) return;
      await foldProgress(engine, tree.root.id, 0);
      return system.readProgress(model, tree);
    }
    case 'PROMOTE_BLOCKED':
      await promoteBlocked(engine);
  }
}
