/** Links to the page of one tree, for people who have no key: each is valid for a time, and all of them can be revoked. */
import { RevokeShares, ShareTree, type ShareTreeMutation } from '../../generated/dashboard.ts';
import { useTexts } from '../texts/all.ts';
import { toHash } from '../watch/link.ts';
import { Action } from './action.tsx';
import { CopyButton } from './copy.tsx';
import { useDraft } from './draft.ts';
import { Time } from './time.tsx';

type Shared = Extract<NonNullable<ShareTreeMutation['createWatchToken']>, { token: string }>;

const hourS = 3_600;
/** In hours; the API allows a day. */
const lifetimes = [1, 8, 24];

export function Share({ rootId, type }: { rootId: string; type: string }) {
  const t = useTexts();
  const { textOf, set, field } = useDraft({ hours: '8', sees: 'PROGRESS' });
  return (
    <>
      <Action
        label={t.share.label}
        needs="SHARE"
        mutation={ShareTree}
        variables={() => {
          const sees = textOf('sees') === 'RESULTS' ? ('RESULTS' as const) : ('PROGRESS' as const);
          return { input: { jobId: rootId, sees, expiresInSeconds: Number(textOf('hours')) * hourS } };
        }}
        question={<p>{t.share.ask(type)}</p>}
        fields={
          <>
            <label>
              {t.share.lifetime}{' '}
              <select {...field('hours')}>
                {lifetimes.map((one) => (
                  <option key={one} value={one}>
                    {t.share.hours(one)}
                  </option>
                ))}
              </select>
            </label>
            <label>
              <input
                type="checkbox"
                defaultChecked={textOf('sees') === 'RESULTS'}
                onChange={({ target }) => set('sees', target.checked ? 'RESULTS' : 'PROGRESS')}
              />{' '}
              {t.share.results}
            </label>
          </>
        }
        result={({ token, expiresAt }: Shared) => (
          <Link
            url={new URL(`watch/${toHash({ tree: rootId, token })}`, document.baseURI).href}
            at={expiresAt}
          />
        )}
      />
      <Action
        label={t.share.revoke}
        needs="CHANGE"
        mutation={RevokeShares}
        variables={() => ({ input: { jobId: rootId } })}
        question={<p>{t.share.revokeAsk(type)}</p>}
        result={() => <p role="status">{t.share.revoked}</p>}
      />
    </>
  );
}

function Link({ url, at }: { url: string; at: string }) {
  const t = useTexts();
  return (
    <>
      <label>
        {t.share.link}
        <input className="link" readOnly value={url} onFocus={({ target }) => target.select()} />
      </label>
      <p>
        {t.share.validUntil} <Time at={at} />. {t.share.whoever}
      </p>
      <div className="buttons">
        <CopyButton label={t.share.copy} text={() => url} isMain />
        <a href={url} target="_blank" rel="noreferrer">
          {t.share.open}
        </a>
      </div>
    </>
  );
}
