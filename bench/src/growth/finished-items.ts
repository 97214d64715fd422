/** Upkeep with nothing to do: what the loops of a server call again and again. */
import { pruning } from '../../../dist/db/prune.js';
import { oldEntries } from '../../../dist/domain/access/audit.js';
import { oldDeliveries } from '../../../dist/domain/callbacks/deliveries.js';
import { oldFigures } from '../../../dist/domain/figures/figures.js';
import { recordWorkers } from '../../../dist/domain/figures/workers.js';
import { leaseSome } from '../../../dist/domain/files/lease-imports.js';
import { pruneSome } from '../../../dist/domain/operations/dead-letter-notes.js';
import { oldOperations } from '../../../dist/domain/operations/operations.js';
import { pruneRates } from '../../../dist/domain/queues/queues.js';
import { fillHistory, itemsPerJob } from '../history.ts';
import type { Growth } from '../measures/growth.ts';

const neverSeen = '00000000-0000-7000-8000-000000000000';

export const finishedItems: Growth = {
  of: 'finished items',
  limitMs: 20,
  fill: (pool, from, to) => fillHistory(pool, to / itemsPerJob, from / itemsPerJob),
  calls: {
    sweep_leases: 'select * from jobtree.sweep_leases()',
    promote_due: 'select * from jobtree.promote_due()',
    promote_blocked: 'select * from jobtree.promote_blocked()',
    unfolded_trees: 'select * from jobtree.unfolded_trees()',
    missed_entries: "select * from jobtree.missed_entries('{history}', '{0}', '{9000000000}')",
    expire_items: 'select * from jobtree.expire_items()',
    fold_stored: 'select * from jobtree.fold_stored()',
    find_idle: `select * from jobtree.find_idle('${neverSeen}', 1000, 3600, 3600)`,
    reap_trees: 'select * from jobtree.reap_trees(604800)',
    raise_alerts: 'select * from jobtree.raise_alerts()',
    note_workers: [recordWorkers, neverSeen, '[]'],
    lease_deliveries: "select * from jobtree.lease_deliveries(60000, 100, 10, '{}')",
    lease_imports: [leaseSome, 1, 60_000, false],
    prune_figures: [pruning(oldFigures), 5_000],
    prune_audit: [pruning(oldEntries), 1_000, 86_400],
    prune_deliveries: [pruning(oldDeliveries), 1_000],
    prune_operations: [pruning(oldOperations), 1_000],
    prune_notes: [pruneSome, null, 1_000],
    prune_rates: [pruneRates],
    prune_uploads: 'select * from jobtree.prune_uploads()',
  },
};
