/** Files: upload one, look at what it would become, import it; and how far the imports are. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import {
  BadLines,
  type ImportStateFragment,
  Imports,
  type ImportRowFragment as Job,
  LiveImports,
  LiveUploads,
  type UploadRowFragment as Stored,
  Uploads,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { messageOf } from '../data/message-of.ts';
import { useMay } from '../data/viewer.ts';
import { Problem } from '../parts/ask.tsx';
import { DropZone } from '../parts/drop-zone.tsx';
import { ImportDialog } from '../parts/import-dialog.tsx';
import { shortId } from '../parts/items.tsx';
import { stringify } from '../parts/json.ts';
import { LivePages } from '../parts/live-list.tsx';
import { Count, State } from '../parts/progress.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';
import { formatBytes } from '../texts/formats.ts';

export default function ImportsScreen() {
  const t = useTexts();
  const mayCreate = useMay()('CREATE');
  const [chosen, setChosen] = useState<string>();
  const live = useAnswer(LiveImports, {});
  const columns = useColumns();
  return (
    <>
      <h1>{t.imports.title}</h1>
      {mayCreate && <DropZone onUploaded={(id) => setChosen((now) => now ?? id)} />}
      {chosen !== undefined && (
        <ImportDialog key={chosen} uploadId={chosen} onClose={() => setChosen(undefined)} />
      )}
      <LivePages
        live={live}
        edgesOf={({ imports }) => imports?.edges}
        read={async (after) => (await ask(Imports, { after })).imports?.edges}
      >
        {(rows, more) => (
          <Table
            label={t.imports.title}
            rows={rows}
            columns={columns}
            keyOf={({ id }) => id}
            empty={t.imports.empty}
            more={more}
          />
        )}
      </LivePages>
      {mayCreate && <Stores onChoose={setChosen} />}
    </>
  );
}

function useColumns(): readonly Column<Job>[] {
  const t = useTexts();
  return [
    {
      title: t.trees.type,
      grow: 1,
      cell: ({ id, type, root }) => (
        <Link to="/trees/$id" params={{ id: root.id }} search={{ job: id }}>
          {type}
        </Link>
      ),
    },
    {
      title: t.imports.upload,
      grow: 1,
      only: ({ import: state }) => state?.name != null,
      cell: ({ import: state }) => state?.name,
    },
    {
      title: t.imports.status,
      grow: 2,
      cell: ({ import: state }) => state != null && <Reading state={state} />,
    },
    {
      title: t.imports.items,
      isNumber: true,
      cell: ({ import: state }) => state != null && <Count count={state.items} />,
    },
    {
      title: t.imports.bad,
      grow: 1,
      cell: (job) => job.import != null && <Bad job={job} badLines={job.import.badLines} />,
    },
    { title: t.trees.created, isTime: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
}

function Reading({ state: { status, bytesRead, size, error } }: { state: ImportStateFragment }) {
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

function Bad({ job, badLines }: { job: Job; badLines: number }) {
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
  const live = useAnswer(LiveUploads, {});
  const columns: readonly Column<Stored>[] = [
    {
      title: t.imports.upload,
      grow: 2,
      cell: ({ id, name, imported }) => (
        <div>
          {name ?? t.imports.noName(shortId(id))}{' '}
          {imported && <span className="quiet">✓ {t.imports.imported}</span>}
        </div>
      ),
    },
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
      <LivePages
        live={live}
        edgesOf={({ uploads }) => uploads?.edges}
        read={async (after) => (await ask(Uploads, { after })).uploads?.edges}
      >
        {(rows, more) => (
          <Table
            label={t.imports.uploads}
            rows={rows}
            columns={columns}
            keyOf={({ id }) => id}
            empty={t.imports.noUploads}
            more={more}
          />
        )}
      </LivePages>
    </section>
  );
}
