/** Endpoints of callbacks that do not take what is sent to them. */
import { counted } from '../domain/values/counted.ts';
import { type Judgement, ok, oneLine, sick, warning, word } from './finding.ts';
import type { Session } from './session.ts';

interface Endpoint {
  name: string;
  goneAt: Date | null;
  failed: number;
  failedSince: Date | null;
  failing: number;
  failingSince: Date | null;
  error: string | null;
}

export async function checkCallbacks(session: Session): Promise<Judgement[]> {
  const endpoints = await session.query<Endpoint>(
    `select e.name, e.gone_at as "goneAt", f.failed, f.since as "failedSince", w.failing, w.since as "failingSince",
       coalesce(w.error, f.error) as error
     from (select e.name, e.gone_at from jobtree.callback_endpoint e order by e.name limit 1000) e
     cross join lateral (
       select count(*)::int as failing, min(d.created_at) as since, max(d.history -> -1 ->> 'error') as error
       from (
         select d.created_at, d.history from jobtree.callback_delivery d
         where d.endpoint = e.name and d.due_at is not null order by d.due_at limit 1000
       ) d
       where d.history -> -1 ->> 'error' is not null
     ) w
     left join lateral (
       select count(*)::int as failed, min(d.failed_at) as since, max(d.history -> -1 ->> 'error') as error
       from (
         select d.endpoint, d.failed_at, d.history from jobtree.callback_delivery d where d.failed_at is not null order by d.id desc limit 1000
       ) d
       where d.endpoint = e.name and d.failed_at > now() - interval '1 day'
     ) f on true
     where e.gone_at is not null or f.failed > 0 or w.failing > 0
     limit 20`,
  );
  if (endpoints.length === 0) return [ok('every endpoint accepts what is sent to it')];
  return endpoints.map(({ name, goneAt, failed, failedSince, failing, failingSince, error }) => {
    const why = error === null ? '' : ` (${oneLine(error).slice(0, 120)})`;
    if (goneAt !== null)
      return warning(
        `The endpoint ${name} answered 410 (gone): nothing more is sent to it.`,
        `Put it again with its new URL: \`jobtree callback put ${word(name)} URL\`. Or delete it: \`jobtree callback delete ${word(name)}\`.`,
        goneAt,
      );
    if (failed > 0)
      return sick(
        `${counted(failed, 'callback')} to ${name} failed for good within a day${why}.`,
        `\`jobtree callbacks --endpoint ${word(name)} --status failed\` lists them. Once it works: \`jobtree callback retry ID\`.`,
        failedSince,
      );
    return warning(
      `${counted(failing, 'callback')} to ${name} failed and will be tried again${why}.`,
      `Look at the receiver; \`jobtree callbacks --endpoint ${word(name)}\` lists them.`,
      failingSince,
    );
  });
}
