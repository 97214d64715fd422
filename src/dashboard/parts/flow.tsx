/** What became of the items of each stage, and where they died. Known from the counts of the jobs alone. */
import type { JobStateFragment, TreeQuery } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';

export interface JobRow {
  readonly job: NonNullable<TreeQuery['job']>['root']['tree'][number];
  readonly progress: JobStateFragment;
}

export function Flow({ rows }: { rows: readonly JobRow[] }) {
  const t = useTexts();
  const fed = rows.filter(({ job }) => job.feed != null);
  if (fed.length === 0) return null;
  const feeding = rows.filter(({ job }) =>
    rows.some((other) => other.job.feed != null && other.job.parent?.id === job.id),
  );
  return (
    <section aria-label={t.flow.label}>
      <h2>{t.flow.title}</h2>
      <ul className="flow">
        {feeding.map(({ job, progress: { itemCount, itemProgress, succeeded, failed, cancelled } }) => (
          <li key={job.id}>
            {t.flow.ended(job.type, failed, cancelled, itemCount - itemProgress)}
            <ul className="flow">
              {fed
                .filter((child) => child.job.parent?.id === job.id)
                .map((child) => (
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
