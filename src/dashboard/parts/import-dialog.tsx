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
import { isolatedWithin } from '../texts/isolated.ts';
import { Answer } from './ask.tsx';
import { CopyButton, inGraphql } from './copy.tsx';
import { stringify } from './json.ts';
import { useModal } from './modal.ts';

type Preview = NonNullable<FilePreviewQuery['filePreview']>;

const formats = ['CSV', 'NDJSON', 'JSON_ARRAY', 'LINES'] as const satisfies readonly FileFormat[];

interface ImportDialogProps {
  readonly uploadId: string;
  /** The job that gets the rows; a new one by default. */
  readonly job?: { readonly id: string; readonly type: string };
  readonly onClose: () => void;
}

/** What somebody says of the file; what is left out is guessed. */
interface Reading {
  readonly format?: FileFormat | undefined;
  readonly delimiter?: string | undefined;
  readonly encoding: string;
  readonly isHeader: boolean;
}

export function ImportDialog({ uploadId, job, onClose }: ImportDialogProps) {
  const t = useTexts();
  const title = useId();
  const dialog = useModal();
  const [type, setType] = useState(job?.type ?? '');
  /** Whose schema the rows are checked against: not every letter on the way to it. */
  const [checkedType, setCheckedType] = useState(type);
  const [reading, setReading] = useState<Reading>({ encoding: '', isHeader: true });
  const query = usePreview(uploadId, checkedType, reading);
  const preview = query.data;
  const file = { source: { uploadId }, ...asRead(reading, preview) };
  const ofNew = { input: { type, file } };
  const ofJob = { input: { jobId: job?.id ?? '', file } };
  const { send, isSending, refusal } = useSending(async () =>
    job === undefined ? (await tell(ImportFile, ofNew)).createJob : (await tell(AddFile, ofJob)).importFile,
  );
  const navigate = useNavigate();
  const carryOut = async () => {
    const made = await send();
    if (made === undefined) return;
    if (job === undefined) await navigate({ to: '/trees/$id', params: { id: made.id } });
    else dialog.current?.close();
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
          <TypeField type={type} onChange={setType} onLeave={() => setCheckedType(type)} />
        ) : (
          <p>{t.addItems.fileAsk(job.type)}</p>
        )}
        <ReadingFields reading={reading} preview={preview} onChange={setReading} />
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

function usePreview(uploadId: string, type: string, { format, delimiter, encoding, isHeader }: Reading) {
  const isCsv = format === undefined || format === 'CSV';
  const options = {
    format: format ?? null,
    encoding: encoding || null,
    delimiter: (isCsv ? delimiter : undefined) ?? null,
    header: format === 'CSV' && !isHeader ? false : null,
  };
  return useQuery({
    queryKey: ['file preview', uploadId, type, options],
    queryFn: async ({ signal }) => {
      const { filePreview } = await ask(FilePreview, { uploadId, type: type || null, ...options }, signal);
      return filePreview as Preview;
    },
    // What was shown stays until the next one is there.
    placeholderData: (before) => before,
  });
}

/** How the file is to be read: as somebody says, else as it was guessed. */
function asRead({ format: chosen, delimiter, encoding, isHeader }: Reading, preview: Preview | undefined) {
  const format = chosen ?? preview?.format ?? 'CSV';
  return {
    format,
    encoding: encoding || (preview?.encoding ?? null),
    delimiter: format === 'CSV' ? (delimiter ?? preview?.delimiter ?? null) : null,
    header: format === 'CSV' && !isHeader ? false : null,
  };
}

type Told = { readonly job: { readonly id: string } } | { readonly message: string } | null | undefined;

/** Sends it, and says why not. `send` gives the job, if it was done. */
function useSending(tellServer: () => Promise<Told>) {
  const queries = useQueryClient();
  const [refusal, setRefusal] = useState<string>();
  const [isSending, setIsSending] = useState(false);
  const send = async () => {
    setIsSending(true);
    setRefusal(undefined);
    try {
      const told = await tellServer();
      if (told == null) return undefined;
      if ('job' in told) {
        // Whoever comes back to the lists sees it there.
        void queries.invalidateQueries();
        return told.job;
      }
      setRefusal(messageOf(told));
    } catch (error) {
      setRefusal(messageOf(error));
    } finally {
      setIsSending(false);
    }
    return undefined;
  };
  return { send, isSending, refusal };
}

function TypeField(props: { type: string; onChange: (type: string) => void; onLeave: () => void }) {
  const t = useTexts();
  const types = useId();
  return (
    <label>
      {t.imports.type}{' '}
      <input
        required
        list={types}
        maxLength={200}
        value={props.type}
        onChange={({ target }) => props.onChange(target.value)}
        onBlur={props.onLeave}
      />
      <KnownTypes id={types} text={props.type} />
    </label>
  );
}

interface ReadingProps {
  readonly reading: Reading;
  readonly preview: Preview | undefined;
  readonly onChange: (reading: Reading) => void;
}

function ReadingFields({ reading, preview, onChange }: ReadingProps) {
  const t = useTexts();
  const { format } = reading;
  return (
    <>
      <label>
        {t.imports.format}{' '}
        <select
          value={format ?? ''}
          onChange={({ target }) =>
            onChange({ ...reading, format: formats.find((one) => one === target.value) })
          }
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
      {(preview?.format ?? 'CSV') === 'CSV' && (
        <CsvFields reading={reading} preview={preview} onChange={onChange} />
      )}
      <label>
        {t.imports.encoding}{' '}
        <input
          defaultValue=""
          placeholder={preview?.encoding ?? 'utf-8'}
          onBlur={({ target }) => onChange({ ...reading, encoding: target.value.trim() })}
        />
      </label>
    </>
  );
}

function CsvFields({ reading, preview, onChange }: ReadingProps) {
  const t = useTexts();
  return (
    <>
      <label>
        {t.imports.delimiter}{' '}
        <select
          value={reading.delimiter ?? preview?.delimiter ?? ','}
          onChange={({ target }) => onChange({ ...reading, format: 'CSV', delimiter: target.value })}
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
          checked={reading.isHeader}
          onChange={({ target }) => onChange({ ...reading, format: 'CSV', isHeader: target.checked })}
        />{' '}
        {t.imports.header}
      </label>
    </>
  );
}

/** What can be chosen; a type that nobody has used yet can be entered. */
function KnownTypes({ id, text }: { id: string; text: string }) {
  const known = useTypes(text.trim());
  return (
    <datalist id={id}>
      {known.map((type) => (
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
      {rows.some((row) => row.problem != null) && <p className="quiet">{t.imports.badRows}</p>}
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
                <code>{stringify(payload)}</code>
                {wrong != null && <div className="problem">{isolatedWithin(wrong)}</div>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
