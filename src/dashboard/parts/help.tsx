/** Who is signed in and where, the keys, and the language. */
import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { Server } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { chooseLanguage, type Language, languages, useTexts } from '../texts/all.ts';
import { formatBytes, formatTime } from '../texts/formats.ts';
import { Answer } from './ask.tsx';
import { Facts } from './facts.tsx';
import { keepLetters, usesLetters } from './keyboard.ts';
import { useModal } from './modal.ts';

export function Help({ onClose }: { onClose: () => void }) {
  const t = useTexts();
  const dialog = useModal();
  const title = useId();
  return (
    <dialog ref={dialog} className="help" aria-labelledby={title} onClose={onClose}>
      <h2 id={title}>{t.help.title}</h2>
      <label>
        {t.help.language}{' '}
        <select value={t.language} onChange={({ target }) => void chooseLanguage(target.value as Language)}>
          {Object.entries(languages).map(([language, name]) => (
            <option key={language} value={language} lang={language}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <h3>{t.help.glossary}</h3>
      <Facts facts={t.help.words} />
      <h3>{t.help.keyboard}</h3>
      <Keyboard />
      <WhoAndWhere />
      <button type="button" onClick={() => dialog.current?.close()}>
        {t.close}
      </button>
    </dialog>
  );
}

function Keyboard() {
  const t = useTexts();
  const [hasLetters, setHasLetters] = useState(usesLetters);
  const { keys } = t.help;
  const letters = [
    ['j', keys.next],
    ['k', keys.previous],
    ['e', keys.edit],
    ['r', keys.replay],
    ['x', keys.cancel],
    ['?', keys.help],
  ] as const;
  const others = [
    ['Ctrl K', keys.search],
    ['↓', keys.next],
    ['↑', keys.previous],
    ['Enter', keys.open],
    ['Esc', keys.escape],
  ] as const;
  return (
    <>
      <Keys keys={others} />
      <label>
        <input
          type="checkbox"
          checked={hasLetters}
          onChange={({ target }) => {
            keepLetters(target.checked);
            setHasLetters(target.checked);
          }}
        />{' '}
        {t.help.useKeys}
      </label>
      {hasLetters && <Keys keys={letters} />}
    </>
  );
}

function WhoAndWhere() {
  const t = useTexts();
  const query = useQuery({ queryKey: ['server'], queryFn: ({ signal }) => ask(Server, {}, signal) });
  return (
    <Answer query={query}>
      {({ viewer, server }) => (
        <>
          <h3>{t.help.you}</h3>
          <Facts
            facts={[
              [t.audit.actor, viewer?.name],
              [t.help.roles, viewer?.roles.join(', ').toLowerCase()],
              [t.help.tenant, viewer?.tenant],
              [t.help.types, viewer?.types?.join(', ')],
              [t.help.until, viewer?.expiresAt == null ? undefined : formatTime(viewer.expiresAt)],
            ]}
          />
          <h3>{t.help.server}</h3>
          {server != null && (
            <Facts
              facts={[
                [t.help.version, server.version],
                [t.help.transport, server.transport === 'REDIS' ? 'Redis' : 'Postgres'],
                [t.help.maxRequest, formatBytes(server.maxRequestBytes)],
                [t.help.maxJson, formatBytes(server.maxJsonBytes)],
                [t.help.maxUpload, formatBytes(server.maxUploadBytes)],
              ]}
            />
          )}
        </>
      )}
    </Answer>
  );
}

function Keys({ keys }: { keys: readonly (readonly [key: string, meaning: string])[] }) {
  return (
    <dl className="keys">
      {keys.map(([key, meaning]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
