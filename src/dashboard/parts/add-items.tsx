/** More items for a job that is not sealed: one that somebody writes, or the rows of a file. */
import { useState } from 'react';
import { AddItem, type AddItemMutation } from '../../generated/dashboard.ts';
import { messageOf } from '../data/message-of.ts';
import { useMay } from '../data/viewer.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { useDraft } from './draft.ts';
import { DropZone } from './drop-zone.tsx';
import { ImportDialog } from './import-dialog.tsx';
import { parseJson } from './json.ts';
import { PayloadSchema } from './payload-schema.tsx';

interface OpenJob {
  readonly id: string;
  readonly type: string;
}

type Added = Extract<NonNullable<AddItemMutation['addItems']>, { entries: unknown }>;

interface AddItemsProps {
  readonly job: OpenJob;
  /** Whether it takes items. */
  readonly isOpen: boolean;
  readonly hasFile: boolean;
  readonly onDone: () => void;
}

/** What was begun outlives the buttons: a job that somebody else seals refuses it in its dialog. */
export function AddItems({ job, isOpen, hasFile, onDone }: AddItemsProps) {
  const t = useTexts();
  const may = useMay();
  const [isChoosing, setIsChoosing] = useState(false);
  const [uploadId, setUploadId] = useState<string>();
  const close = () => {
    setUploadId(undefined);
    setIsChoosing(false);
  };
  return (
    <>
      {isOpen && (
        <div className="buttons">
          <AddOne job={job} onDone={onDone} />
          {may('CREATE') && may('CHANGE') && !hasFile && (
            <button type="button" aria-expanded={isChoosing} onClick={() => setIsChoosing(!isChoosing)}>
              {t.addItems.file}
            </button>
          )}
        </div>
      )}
      {isChoosing && <DropZone onUploaded={setUploadId} />}
      {uploadId !== undefined && (
        <ImportDialog
          uploadId={uploadId}
          job={job}
          onClose={() => {
            close();
            onDone();
          }}
        />
      )}
    </>
  );
}

function AddOne({ job, onDone }: { job: OpenJob; onDone: () => void }) {
  const t = useTexts();
  const { textOf, field } = useDraft({ payload: '', dedupeKey: '' });
  return (
    <Action
      label={t.addItems.one}
      needs="CHANGE"
      mutation={AddItem}
      variables={() => ({
        input: {
          jobId: job.id,
          items: [
            {
              payload: parseJson(textOf('payload'), t.item.notJson),
              dedupeKey: textOf('dedupeKey') || null,
            },
          ],
        },
      })}
      question={t.addItems.ask(job.type)}
      refusalOf={({ entries: [entry] }: Added) => {
        if (entry?.status === 'DUPLICATE') return t.addItems.duplicate;
        return entry?.error == null ? undefined : messageOf(entry.error);
      }}
      onDone={onDone}
      fields={
        <>
          <label>
            {t.item.changePayload}
            <textarea required rows={8} spellCheck={false} {...field('payload')} />
          </label>
          <PayloadSchema type={job.type} />
          <label>
            {t.addItems.dedupeKey} <input maxLength={500} {...field('dedupeKey')} />
          </label>
        </>
      }
    />
  );
}
