/** Upkeep with nothing to do: what the loops of a server call again and again. */
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
    note_workers: `select * from jobtree.note_workers('${neverSeen}', '[]')`,
    lease_deliveries: "select * from jobtree.lease_deliveries(60000, 100, 10, '{}')",
    lease_imports: 'select * from jobtree.lease_imports(1, 60000, false)',
    prune_figures: 'select * from jobtree.prune_figures()',
    prune_audit: 'select * from jobtree.prune_audit(86400)',
    prune_deliveries: 'select * from jobtree.prune_deliveries()',
    prune_operations: 'select * from jobtree.prune_operations()',
    prune_notes: 'select * from jobtree.prune_notes()',
    prune_rates: 'select * from jobtree.prune_rates()',
    prune_uploads: 'select * from jobtree.prune_uploads()',
  },
};
