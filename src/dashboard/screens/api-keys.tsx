/** The keys that programs and people have: who made them, what they may, and when they were last used. */
import { ApiKeys, type ApiKeyRowFragment as Key, LiveApiKeys, RevokeKey } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useAnswer } from '../data/live-answers.ts';
import { Action } from '../parts/action.tsx';
import { LiveAnswer, useContinued } from '../parts/live-list.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';

export default function ApiKeysScreen() {
  const t = useTexts();
  const live = useAnswer(LiveApiKeys, {});
  const columns: readonly Column<Key>[] = [
    {
      title: t.apiKeys.name,
      grow: 2,
      cell: ({ name, revokedAt }) => (
        <>
          {name} {revokedAt != null && <span className="quiet">⊘ {t.apiKeys.revoked}</span>}
        </>
      ),
    },
    { title: t.apiKeys.roles, grow: 1, cell: ({ roles }) => roles.join(', ').toLowerCase() },
    {
      title: t.apiKeys.scope,
      grow: 2,
      cell: ({ tenant, types }) => [tenant, types?.join(', ')].filter((part) => part != null).join(': '),
    },
    { title: t.apiKeys.createdBy, grow: 2, cell: ({ createdBy }) => createdBy },
    { title: t.apiKeys.lastUsed, isTime: true, cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
    { title: t.apiKeys.expires, isTime: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    {
      title: t.actions,
      only: ({ revokedAt }) => revokedAt == null,
      cell: ({ id, name, revokedAt }) =>
        revokedAt == null && (
          <Action
            label={t.apiKeys.revoke}
            danger
            needs="ADMINISTER"
            mutation={RevokeKey}
            variables={() => ({ input: { id } })}
            question={t.apiKeys.revokeAsk(name)}
            command={() => `jobtree api-keys revoke ${id}`}
          />
        ),
    },
  ];
  return (
    <>
      <h1>{t.apiKeys.title}</h1>
      <LiveAnswer live={live}>
        {({ apiKeys }) => <Keys keys={apiKeys ?? none} columns={columns} />}
      </LiveAnswer>
    </>
  );
}

const none: readonly never[] = [];
const idOf = ({ id }: Key) => id;

function Keys({ keys, columns }: { keys: readonly Key[]; columns: readonly Column<Key>[] }) {
  const t = useTexts();
  const { rows, more } = useContinued(keys, {
    keyOf: idOf,
    pageSize: 1_000,
    read: async ({ id }) => (await ask(ApiKeys, { after: id })).apiKeys ?? [],
  });
  return (
    <Table
      label={t.apiKeys.title}
      rows={rows}
      columns={columns}
      keyOf={idOf}
      empty={t.apiKeys.empty}
      more={more}
    />
  );
}
