/** What an uploaded file would become, as it is guessed or as somebody says, and the job that it makes, or that gets its rows. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import {
  AddFile,
  type FileFormat,
  FilePreview,
  type FilePreviewQuery,
  ImportFile,
} from '../../generated/dashboard.ts';
import { ask, tell } from '../data/connection.ts';
import { messageOf } from '../data/message-of.ts';
import { useTypes } from '../data/types.ts';
import { useTexts } from '../texts/all.ts';
import { Answer } from './ask.tsx';
import { CopyButton, inGraphql } from './copy.tsx';
import { useModal } from './modal.ts';

type Preview = NonNullable<FilePreviewQuery['filePreview']>;

const formats = ['CSV', 'NDJSON', 'JSON_ARRAY', 'LINES'] as const satisfies readonly FileFormat[];

interface ImportDialogProps {
  readonly uploadId: string;
  /** The job that gets the rows; a new one by default. */
  readonly job?: { readonly id: string; readonly type: string };
  readonly onClose: () => void;
}

export function ImportDialog({ uploadId, job, onClose }: ImportDialogProps) {
  const t = useTexts();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const title = useId();
  const types = useId();
  const dialog = useModal();
  const [type, setType] = useState(job?.type ?? '');
  /** Whose schema the rows are checked against: not every letter on the way to it. */
  const [checkedType, setCheckedType] = useState(type);
  const [format, setFormat] = useState<FileFormat>();
  const [delimiter, setDelimiter] = useState<string>();
  const [encoding, setEncoding] = useState('');
  const [isHeader, setIsHeader] = useState(true);
  const [refusal, setRefusal] = useState<string>();
  const [isSending, setIsSending] = useState(false);

  const isCsv = format === undefined || format === 'CSV';
  const options = {
    format: format ?? null,
    encoding: encoding || null,
    delimiter: (isCsv ? delimiter : undefined) ?? null,
    header: format === 'CSV' && !isHeader ? false : null,
  };
  const query = useQuery({
    queryKey: ['file preview', uploadId, checkedType, options],
    queryFn: async ({ signal }) => {
      const { filePreview } = await ask(
        FilePreview,
        { uploadId, type: checkedType || null, ...options },
        signal,
      );
      return filePreview as Preview;
    },
    // What was shown stays until the next one is there.
    placeholderData: (before) => before,
  });
  const preview = query.data;
  const read = preview?.format ?? 'CSV';
  const file = {
    source: { uploadId },
    format: read,
    encoding: encoding || (preview?.encoding ?? null),
    delimiter: read === 'CSV' ? (delimiter ?? preview?.delimiter ?? null) : null,
    header: read === 'CSV' && !isHeader ? false : null,
  };
  const ofNew = { input: { type, file } };
  const ofJob = { input: { jobId: job?.id ?? '', file } };
  const carryOut = async () => {
    setIsSending(true);
    setRefusal(undefined);
    try {
      const told =
        job === undefined
          ? (await tell(ImportFile, ofNew)).createJob
          : (await tell(AddFile, ofJob)).importFile;
      if (told == null || !('job' in told)) return setRefusal(told?.message);
      // Whoever comes back to the lists sees it there.
      void queries.invalidateQueries();
      if (job === undefined) await navigate({ to: '/trees/$id', params: { id: told.job.id } });
      else dialog.current?.close();
    } catch (error) {
      setRefusal(messageOf(error));
    } finally {
      setIsSending(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void carryOut();
        }}
      >
        <h2 id={title}>{t.imports.dialog}</h2>
        {job === undefined ? (
          <label>
            {t.imports.type}{' '}
            <input
              required
              list={types}
              maxLength={200}
              value={type}
              onChange={({ target }) => setType(target.value)}
              onBlur={() => setCheckedType(type)}
            />
            <KnownTypes id={types} />
          </label>
        ) : (
          <p>{t.addItems.fileAsk(job.type)}</p>
        )}
        <label>
          {t.imports.format}{' '}
          <select
            value={format ?? ''}
            onChange={({ target }) => setFormat(formats.find((one) => one === target.value))}
          >
            <option value="">
              {format === undefined && preview !== undefined
                ? t.imports.guessed(t.imports.formatNames[preview.format])
                : t.imports.guess}
            </option>
            {formats.map((one) => (
              <option key={one} value={one}>
                {t.imports.formatNames[one]}
              </option>
            ))}
          </select>
        </label>
        {read === 'CSV' && (
          <>
            <label>
              {t.imports.delimiter}{' '}
              <select
                value={delimiter ?? preview?.delimiter ?? ','}
                onChange={({ target }) => {
                  setFormat('CSV');
                  setDelimiter(target.value);
                }}
              >
                {Object.entries(t.imports.delimiters).map(([one, name]) => (
                  <option key={one} value={one}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <label>
              <input
                type="checkbox"
                checked={isHeader}
                onChange={({ target }) => {
                  setFormat('CSV');
                  setIsHeader(target.checked);
                }}
              />{' '}
              {t.imports.header}
            </label>
          </>
        )}
        <label>
          {t.imports.encoding}{' '}
          <input
            defaultValue=""
            placeholder={preview?.encoding ?? 'utf-8'}
            onBlur={({ target }) => setEncoding(target.value.trim())}
          />
        </label>
        <Answer query={query}>{(found) => <Rows preview={found} />}</Answer>
        {refusal !== undefined && (
          <p role="alert" className="problem">
            {refusal}
          </p>
        )}
        <div className="buttons">
          <button type="submit" className="primary" disabled={isSending || preview === undefined}>
            {t.imports.submit}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            {t.cancel}
          </button>
          <CopyButton
            label={t.copy.graphql}
            text={() => (job === undefined ? inGraphql(ImportFile, ofNew) : inGraphql(AddFile, ofJob))}
          />
        </div>
      </form>
    </dialog>
  );
}

/** What can be chosen; a type that nobody has used yet can be entered. */
function KnownTypes({ id }: { id: string }) {
  const { data } = useTypes();
  return (
    <datalist id={id}>
      {data?.map((type) => (
        <option key={type} value={type} />
      ))}
    </datalist>
  );
}

function Rows({ preview: { rows, problem } }: { preview: Preview }) {
  const t = useTexts();
  if (problem != null) return <p className="problem">{problem}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard
    <section className="scrolled" aria-label={t.imports.preview} tabIndex={0}>
      <table className="preview">
        <caption>{t.imports.preview}</caption>
        <thead>
          <tr>
            <th scope="col">{t.imports.line}</th>
            <th scope="col">{t.imports.payload}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ line, payload, problem: wrong }) => (
            <tr key={line}>
              <td>{line}</td>
              <td>
                <code>{JSON.stringify(payload)}</code>
                {wrong != null && <div className="problem">{wrong}</div>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
