/** Who is told that a tree is complete: adding an endpoint, and what was sent. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type InputHTMLAttributes, useId, useState } from 'react';
import {
  AddCallbacks,
  CallbackDeliveries,
  type CallbackDeliveryFilter,
  type CallbackDeliveryRowFragment,
  CallbackEndpoints,
  LiveCallbackDeliveries,
  RetryDelivery,
} from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { useSettled } from '../data/types.ts';
import { useMay } from '../data/viewer.ts';
import { useTexts } from '../texts/all.ts';
import { Action } from './action.tsx';
import { useDraft } from './draft.ts';
import { LivePages } from './live-list.tsx';
import { State } from './progress.tsx';
import { type Column, Table } from './table.tsx';
import { Time } from './time.tsx';

export function Deliveries({ filter }: { filter: CallbackDeliveryFilter }) {
  const t = useTexts();
  const live = useAnswer(LiveCallbackDeliveries, { filter });
  const columns: readonly Column<CallbackDeliveryRowFragment>[] = [
    { title: t.callbacks.endpoint, grow: 2, cell: ({ endpoint }) => endpoint },
    { title: t.callbacks.event, cell: ({ event }) => t.callbacks.events[event] },
    { title: t.callbacks.status, cell: ({ status }) => <State state={status} /> },
    { title: t.callbacks.attempts, isNumber: true, cell: ({ attemptCount }) => attemptCount },
    {
      title: t.callbacks.last,
      grow: 3,
      cell: ({ attempts }) => {
        const last = attempts.at(-1);
        return last === undefined ? '' : (last.error ?? last.statusCode);
      },
    },
    { title: t.callbacks.created, isTime: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      title: t.actions,
      cell: ({ id, endpoint }) => (
        <Action
          label={t.callbacks.retry}
          shortcut="r"
          needs="ADMINISTER"
          mutation={RetryDelivery}
          variables={() => ({ input: { deliveryId: id } })}
          question={t.callbacks.retryAsk(endpoint)}
          command={() => `jobtree callback retry ${id}`}
        />
      ),
    },
  ];
  return (
    <LivePages
      live={live}
      edgesOf={({ callbackDeliveries }) => callbackDeliveries?.edges}
      read={async (after) => (await ask(CallbackDeliveries, { filter, after })).callbackDeliveries?.edges}
    >
      {(rows, more) => (
        <Table
          label={t.callbacks.title}
          rows={rows}
          columns={columns}
          keyOf={({ id }) => id}
          empty={t.callbacks.empty}
          more={more}
        />
      )}
    </LivePages>
  );
}

export function AddCallback({ rootId, onDone }: { rootId: string; onDone: () => void }) {
  const t = useTexts();
  const { textOf, field } = useDraft({ endpoint: '', on: 'TREE' });
  return (
    <Action
      label={t.callbacks.add}
      needs="CHANGE"
      mutation={AddCallbacks}
      variables={() => {
        const on = textOf('on') === 'JOB' ? ('JOB' as const) : ('TREE' as const);
        return { input: { jobId: rootId, callbacks: [{ endpoint: textOf('endpoint'), on }] } };
      }}
      question={t.callbacks.addAsk}
      onDone={onDone}
      fields={
        <>
          <Endpoint {...field('endpoint')} />
          <label>
            {t.callbacks.event}{' '}
            <select {...field('on')}>
              <option value="TREE">{t.callbacks.on.TREE}</option>
              <option value="JOB">{t.callbacks.on.JOB}</option>
            </select>
          </label>
        </>
      }
    />
  );
}

/** Whoever may list the endpoints chooses one; others know its name. */
function Endpoint(field: InputHTMLAttributes<HTMLInputElement>) {
  const t = useTexts();
  const list = useId();
  const [text, setText] = useState(String(field.defaultValue ?? ''));
  const after = useSettled(text);
  const { data } = useQuery({
    queryKey: ['callback endpoints', after],
    // Those that begin with it come right after it.
    queryFn: ({ signal }) => ask(CallbackEndpoints, { after: after || null }, signal),
    enabled: useMay()('ADMINISTER'),
    placeholderData: keepPreviousData,
  });
  return (
    <label>
      {t.callbacks.endpoint}{' '}
      <input
        required
        list={list}
        maxLength={200}
        {...field}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <datalist id={list}>
        {data?.callbackEndpoints?.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}
