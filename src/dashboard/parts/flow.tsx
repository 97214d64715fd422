/** What became of the items of each stage, and where they died. Known from the counts of the jobs alone. */
import type { JobStateFragment, TreeQuery } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';

export interface JobRow {
  readonly job: NonNullable<TreeQuery['job']>['root']['tree'][number];
  readonly progress: JobStateFragment;
}

/** In their order. */
export function byParent(rows: readonly JobRow[]): ReadonlyMap<string | undefined, readonly JobRow[]> {
  const found = new Map<string | undefined, JobRow[]>();
  for (const row of rows) {
    const parent = row.job.parent?.id;
    const siblings = found.get(parent);
    if (siblings === undefined) found.set(parent, [row]);
    else siblings.push(row);
  }
  return found;
}

export function Flow({ rows }: { rows: readonly JobRow[] }) {
  const t = useTexts();
  const fed = rows.filter(({ job }) => job.feed != null);
  if (fed.length === 0) return null;
  const feeds = byParent(fed);
  const feeding = rows.filter(({ job }) => feeds.has(job.id));
  return (
    <section aria-label={t.flow.label}>
      <h2>{t.flow.title}</h2>
      <ul className="flow">
        {feeding.map(({ job, progress: { itemCount, itemProgress, succeeded, failed, cancelled } }) => (
          <li key={job.id}>
            {t.flow.ended(job.type, failed, cancelled, itemCount - itemProgress)}
            <ul className="flow">
              {feeds.get(job.id)?.map((child) => (
                <li key={child.job.id}>
                  {t.flow.became(job.type, succeeded, child.job.type, child.progress.itemCount)}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </section>
  );
}
