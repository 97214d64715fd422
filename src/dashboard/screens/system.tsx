/** The servers that run, and what the doctor finds: the worst first, with what to do about it. */
import {
  LiveFindings,
  type LiveFindingsSubscription,
  LiveServers,
  type LiveServersSubscription,
} from '../../generated/dashboard.ts';
import { useAnswer } from '../data/live-answers.ts';
import { messageOf } from '../data/message-of.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Facts } from '../parts/facts.tsx';
import { LiveAnswer } from '../parts/live-list.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useTexts } from '../texts/all.ts';
import { isolatedWithin } from '../texts/isolated.ts';
import './system.css';

type Finding = NonNullable<LiveFindingsSubscription['live']['findings']>[number];
type Server = NonNullable<LiveServersSubscription['live']['servers']>[number];

export default function SystemScreen() {
  const t = useTexts();
  const findings = useAnswer(LiveFindings, {});
  const servers = useAnswer(LiveServers, {});
  const columns: readonly Column<Server>[] = [
    { title: t.system.host, grow: 2, cell: ({ host }) => host },
    { title: t.system.process, isNumber: true, cell: ({ process }) => process },
    { title: t.system.version, cell: ({ version }) => version },
    { title: t.system.transport, cell: ({ transport }) => transport },
    { title: t.system.connected, grow: 1, cell: ({ connectedAt }) => <Time at={connectedAt} /> },
    { title: t.system.seen, grow: 1, cell: ({ seenAt }) => <Time at={seenAt} /> },
  ];
  return (
    <>
      <h1>{t.system.title}</h1>
      <LiveAnswer live={findings}>{(data) => <Findings findings={data.findings ?? []} />}</LiveAnswer>
      <h2>{t.system.servers}</h2>
      <LiveAnswer live={servers}>
        {(data) => {
          const rows = data.servers ?? [];
          return (
            <>
              {new Set(rows.map(({ version }) => version)).size > 1 && <p>⚠ {t.system.differ}</p>}
              <Table
                label={t.system.servers}
                rows={rows}
                columns={columns}
                keyOf={({ host, process, connectedAt }) => `${host} ${process} ${connectedAt}`}
                empty={t.system.none}
              />
            </>
          );
        }}
      </LiveAnswer>
    </>
  );
}

function Findings({ findings }: { findings: readonly Finding[] }) {
  const t = useTexts();
  const bad = findings.filter(({ status }) => status !== 'OK');
  const well = findings.filter(({ status }) => status === 'OK');
  return (
    <section aria-label={t.system.findings}>
      {bad.length === 0 ? (
        <p className="state" data-state="SUCCEEDED">
          ✓ {t.system.well}
        </p>
      ) : (
        <ul className="findings">
          {bad.map((finding) => (
            <li key={`${finding.check} ${finding.message}`} data-status={finding.status}>
              <p>
                <strong>{finding.status === 'SICK' ? `✕ ${t.system.sick}` : `⚠ ${t.system.warning}`}</strong>{' '}
                <span className="quiet">{finding.check}</span>
                {finding.since != null && (
                  <small className="quiet">
                    {' '}
                    {t.system.since} <Time at={finding.since} />
                  </small>
                )}
              </p>
              <p lang="en">{messageOf(finding)}</p>
              {finding.advice != null && <Advice advice={finding.advice} />}
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>{t.system.checked(well.length)}</summary>
        <Facts
          facts={well.map(
            ({ check, message }, i) =>
              [
                check,
                <span key={`${check} ${i}`} lang="en">
                  {isolatedWithin(message)}
                </span>,
              ] as const,
          )}
        />
      </details>
    </section>
  );
}

/** What stands between backticks can be copied. The server speaks English. */
function Advice({ advice }: { advice: string }) {
  return (
    <p>
      {advice.split(/`([^`]+)`/).map((part, i) =>
        i % 2 === 0 ? (
          <span key={`${i} ${part}`} lang="en">
            {isolatedWithin(part)}
          </span>
        ) : (
          <Command key={`${i} ${part}`} text={part} />
        ),
      )}
    </p>
  );
}

function Command({ text }: { text: string }) {
  const t = useTexts();
  return (
    <span className="command">
      <code lang="en">{text}</code> <CopyButton label={t.system.copy} text={() => text} />
    </span>
  );
}
