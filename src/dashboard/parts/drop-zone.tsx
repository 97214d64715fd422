/** Takes a file and uploads it part by part: what a lost connection interrupts goes on where it was. */
import { useRef, useState } from 'react';
import { upload } from '../../client/upload.ts';
import { credentials, url } from '../data/connection.ts';
import { askAgain } from '../data/live.ts';
import { useTexts } from '../texts/all.ts';
import { formatBytes } from '../texts/formats.ts';
import { Problem } from './ask.tsx';
import './drop-zone.css';

/** For how long a part is tried again. */
const retryMs = 600_000;
const timeoutMs = 60_000;

interface Sending {
  readonly file: File;
  readonly sent: number;
  readonly isRetrying: boolean;
}

export function DropZone({ onUploaded }: { onUploaded: (uploadId: string) => void }) {
  const t = useTexts();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setIsOver] = useState(false);
  const { send, stop, sending, error } = useUpload(onUploaded);
  const words =
    sending &&
    t.imports.uploading(sending.file.name, formatBytes(sending.sent), formatBytes(sending.file.size));
  return (
    <section
      className="drop"
      aria-label={t.imports.choose}
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        void send(event.dataTransfer.files[0]);
      }}
    >
      {sending === undefined ? (
        <>
          {t.imports.drop}{' '}
          <button type="button" onClick={() => input.current?.click()}>
            {t.imports.choose}
          </button>
          <input
            ref={input}
            type="file"
            hidden
            aria-label={t.imports.choose}
            onChange={({ target }) => {
              void send(target.files?.[0]);
              target.value = '';
            }}
          />
          <p className="quiet">{t.imports.formats}</p>
        </>
      ) : (
        <>
          <p role="status">{sending.isRetrying ? t.imports.retrying : words}</p>
          <progress aria-label={words} max={Math.max(sending.file.size, 1)} value={sending.sent} />{' '}
          <button type="button" onClick={stop}>
            {t.imports.stop}
          </button>
        </>
      )}
      {error !== undefined && <Problem error={error} />}
    </section>
  );
}

function useUpload(onUploaded: (uploadId: string) => void) {
  const ending = useRef<AbortController>(undefined);
  const [sending, setSending] = useState<Sending>();
  const [error, setError] = useState<Error>();

  const send = async (file: File | undefined) => {
    if (file === undefined || sending !== undefined) return;
    ending.current = new AbortController();
    const { signal } = ending.current;
    setError(undefined);
    setSending({ file, sent: 0, isRetrying: false });
    try {
      const onRetry = () => setSending((now) => now && { ...now, isRetrying: true });
      const fetch: typeof globalThis.fetch = (...args) => globalThis.fetch(...args);
      const endpoint = { url, fetch, credentials, retryMs, timeoutMs, onRetry };
      const onProgress = (sent: number) => setSending({ file, sent, isRetrying: false });
      const { id } = await upload(endpoint, file, { signal, onProgress });
      askAgain();
      onUploaded(id);
    } catch (cause) {
      if (!signal.aborted) setError(cause instanceof Error ? cause : new Error(String(cause)));
    } finally {
      setSending(undefined);
    }
  };
  return { send, stop: () => ending.current?.abort(), sending, error };
}
