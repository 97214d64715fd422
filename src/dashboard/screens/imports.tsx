/** Files: upload one, look at what it would become, import it; and how far the imports are. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import {
  BadLines,
  type ImportStateFragment,
  Imports,
  type ImportsQuery,
  Uploads,
  type UploadsQuery,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { messageOf } from '../data/message-of.ts';
import { useImport } from '../data/use-import.ts';
import { useMay } from '../data/viewer.ts';
import { Answer, Problem } from '../parts/ask.tsx';
import { DropZone } from '../parts/drop-zone.tsx';
import { ImportDialog } from '../parts/import-dialog.tsx';
import { shortId } from '../parts/items.tsx';
import { stringify } from '../parts/json.ts';
import { More, nodesOf, usePages } from '../parts/pages.tsx';
import { Count, State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';
import { formatBytes } from '../texts/formats.ts';

type Job = NonNullable<ImportsQuery['imports']>['nodes'][number];
type Stored = NonNullable<UploadsQuery['uploads']>['nodes'][number];

export default function ImportsScreen() {
  const t = useTexts();
  const mayCreate = useMay()('CREATE');
  const [chosen, setChosen] = useState<string>();
  const pages = usePages(Imports, {}, (data) => data.imports);
  const columns: readonly Column<Job>[] = [
    {
      title: t.trees.type,
      grow: 1,
      cell: ({ id, type, root }) => (
        <Link to="/trees/$id" params={{ id: root.id }} search={{ job: id }}>
          {type}
        </Link>
      ),
    },
    { title: t.imports.status, grow: 2, cell: (job) => <Live job={job} show={Reading} /> },
    {
      title: t.imports.items,
      isNumber: true,
      cell: (job) => <Live job={job} show={({ state }) => <Count count={state.items} />} />,
    },
    { title: t.imports.bad, grow: 1, cell: (job) => <Live job={job} show={Bad} /> },
    { title: t.trees.created, isTime: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
  return (
    <>
      <h1>{t.imports.title}</h1>
      {mayCreate && <DropZone onUploaded={(id) => setChosen((now) => now ?? id)} />}
      {chosen !== undefined && (
        <ImportDialog key={chosen} uploadId={chosen} onClose={() => setChosen(undefined)} />
      )}
      <Answer query={pages}>
        {() => (
          <Table
            label={t.imports.title}
            rows={nodesOf(pages)}
            columns={columns}
            keyOf={({ id }) => id}
            empty={t.imports.empty}
            more={<More pages={pages} />}
          />
        )}
      </Answer>
      {mayCreate && <Stores onChoose={setChosen} />}
    </>
  );
}

interface Shown {
  readonly job: Job;
  readonly state: ImportStateFragment;
}

function Live({ job, show: Show }: { job: Job; show: (shown: Shown) => React.ReactNode }) {
  const state = useImport(job);
  return state == null ? null : <Show job={job} state={state} />;
}

function Reading({ state: { status, bytesRead, size, error } }: Shown) {
  const t = useTexts();
  const words = t.imports.read(formatBytes(bytesRead), formatBytes(size));
  return (
    <div>
      <State state={status} />{' '}
      {status === 'RUNNING' && <progress aria-label={words} max={Math.max(size, 1)} value={bytesRead} />}{' '}
      <span className="words">{words}</span>
      {error != null && <div className="problem">{messageOf(error)}</div>}
    </div>
  );
}

function Bad({ job, state: { badLines } }: Shown) {
  const t = useTexts();
  const [error, setError] = useState<Error>();
  if (badLines === 0) return null;
  const download = async () => {
    setError(undefined);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(await readBadLines(job.id), { type: 'application/x-ndjson' }));
    link.download = `${job.type}-bad-lines.ndjson`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <>
      <Count count={badLines} />{' '}
      <button type="button" className="quiet" onClick={() => download().catch(setError)}>
        {t.imports.download}
      </button>
      {error !== undefined && <Problem error={error} />}
    </>
  );
}

const badCodes = ['BAD_LINE', 'INVALID_PAYLOAD'];

/** In lines of JSON: what is wrong with each, and what it has. */
async function readBadLines(jobId: string): Promise<string[]> {
  const lines: string[] = [];
  let after: string | null | undefined;
  do {
    const { job } = await ask(BadLines, { jobId, after: after ?? null });
    for (const { payload, failures } of job?.items.nodes ?? []) {
      const found = failures.find(({ code }) => badCodes.includes(code));
      if (found !== undefined) lines.push(`${stringify({ problem: found.message, payload })}\n`);
    }
    const { endCursor, hasNextPage } = job?.items.pageInfo ?? { hasNextPage: false };
    after = hasNextPage ? endCursor : undefined;
  } while (after != null);
  return lines;
}

function Stores({ onChoose }: { onChoose: (uploadId: string) => void }) {
  const t = useTexts();
  const pages = usePages(Uploads, {}, (data) => data.uploads);
  const columns: readonly Column<Stored>[] = [
    { title: t.imports.upload, grow: 2, cell: ({ id, name }) => name ?? t.imports.noName(shortId(id)) },
    {
      title: t.imports.size,
      grow: 1,
      cell: ({ size, length, complete }) =>
        complete
          ? formatBytes(size)
          : `${formatBytes(size)} / ${length == null ? '?' : formatBytes(length)}, ${t.imports.incomplete}`,
    },
    { title: t.trees.created, isTime: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: t.imports.expires, isTime: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    {
      title: t.actions,
      only: ({ complete }) => complete,
      cell: ({ id, complete }) =>
        complete && (
          <button type="button" onClick={() => onChoose(id)}>
            {t.imports.submit}
          </button>
        ),
    },
  ];
  return (
    <section aria-label={t.imports.uploads}>
      <h2>{t.imports.uploads}</h2>
      <p className="quiet">{t.imports.uploadsIntro}</p>
      <Answer query={pages}>
        {() => (
          <Table
            label={t.imports.uploads}
            rows={nodesOf(pages)}
            columns={columns}
            keyOf={({ id }) => id}
            empty={t.imports.noUploads}
            more={<More pages={pages} />}
          />
        )}
      </Answer>
    </section>
  );
}
