/** Who attempted which privileged action. */
import { AuditEntries, type AuditEntriesQuery } from '../../generated/dashboard.ts';
import { Answer } from '../parts/ask.tsx';
import { More, nodesOf, usePages } from '../parts/pages.tsx';
import { Subjects } from '../parts/subjects.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

type Entry = NonNullable<AuditEntriesQuery['auditEntries']>['nodes'][number];

export default function AuditScreen() {
  const t = useTexts();
  const pages = usePages(AuditEntries, {}, (data) => data.auditEntries);
  const columns: readonly Column<Entry>[] = [
    { title: t.audit.at, isTime: true, cell: ({ at }) => <Time at={at} /> },
    { title: t.audit.actor, grow: 2, cell: ({ actor }) => actor },
    { title: t.audit.action, grow: 2, cell: ({ action }) => action },
    { title: t.audit.subjects, grow: 3, cell: ({ subjects }) => <Subjects subjects={subjects} /> },
    { title: t.audit.outcome, cell: ({ outcome }) => outcome },
    { title: t.audit.address, cell: ({ address }) => address },
  ];
  return (
    <>
      <h1>{t.audit.title}</h1>
      <Answer query={pages}>
        {() => (
          <Table
            label={t.audit.title}
            rows={nodesOf(pages)}
            columns={columns}
            keyOf={({ id }) => id}
            empty={t.audit.empty}
            more={<More pages={pages} />}
          />
        )}
      </Answer>
    </>
  );
}
