/** Adding up what tenants store, while an old snapshot keeps what was added up before. */
import type { Growth } from '../measures/growth.ts';

export const deadRecords: Growth = {
  of: 'records under an old snapshot',
  holdsSnapshot: true,
  limitMs: 20,
  fill: async (pool, from, to) => {
    await pool.query(
      `insert into jobtree.stored_delta (tenant, items, bytes) select 'bench', 1, 1 from generate_series(1, $1::int)`,
      [to - from],
    );
    await pool.query('select * from jobtree.fold_stored($1::int)', [to - from]);
  },
  calls: {
    'fold_stored from its mark on':
      'select * from jobtree.fold_stored(10000, (select last_value from jobtree.stored_delta_id_seq))',
  },
};
