/** What an entry of the audit is about: ids and names lead to what they name, if there is a page of it. */
import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import { shortId } from './items.tsx';

export const Subjects = ({ subjects }: { subjects: readonly string[] }) =>
  subjects.map((subject, i) => (
    <Fragment key={i}>
      {i > 0 && ', '}
      <Subject text={subject} />
    </Fragment>
  ));

/** An id, alone or after the name of a field; or the name of a type, after that word. */
const form = /^(?:(\w+) )?(?:(Job|JobItem|DeadLetterGroup):(\S+)|(.+))$/s;

function Subject({ text }: { text: string }) {
  const [, word, kind, rest = '', name] = form.exec(text) ?? [];
  const id = `${kind}:${rest}`;
  const before = word === undefined ? '' : `${word} `;
  if (kind === 'Job')
    return (
      <>
        {before}
        <Link to="/trees/$id" params={{ id }}>
          {id}
        </Link>
      </>
    );
  if (kind === 'JobItem')
    return (
      <>
        {before}
        <Link to="/items/$id" params={{ id }} title={id}>
          JobItem:…:{shortId(id)}
        </Link>
      </>
    );
  if (kind === 'DeadLetterGroup')
    return (
      <>
        {before}
        <Link to="/dead-letters/$id" params={{ id }}>
          {id}
        </Link>
      </>
    );
  if ((word === 'type' || word === 'types') && name !== undefined)
    return (
      <>
        {before}
        <Link to="/queues/$type" params={{ type: name }}>
          {name}
        </Link>
      </>
    );
  if (word === 'schedule')
    return (
      <>
        {before}
        <Link to="/schedules">{name}</Link>
      </>
    );
  return text;
}
