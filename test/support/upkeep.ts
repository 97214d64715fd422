/** The statements that a server sends by itself, whatever it is asked: folding, sweeping, waking, calling back, keeping figures, opening connections. */
export const upkeep =
  /fold_trees|unfolded_trees|fold_stored|note_delivery|sweep|promote_due|missed_entries|wake_workers|known_schemas|find_idle|reap_trees|delete_reaped|tree_deletion d|j\.cancelling|j\.releasing|read_agenda|start_queued|note_sweep|note_workers|save_figures|prune_figures|prune_audit|jobtree\.schedule|expire_items|prune_|promote_blocked|raise_alerts|lease_deliveries|lease_imports|send_hint|^select 1$|^set |^BEGIN|^COMMIT/;
