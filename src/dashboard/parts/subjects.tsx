/** What an entry of the audit is about: ids and names lead to what they name, if there is a page of it. */
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
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
  const [, word, kind, rest = '', name = ''] = form.exec(text) ?? [];
  const link = linkOf(kind ?? word, kind === undefined ? name : `${kind}:${rest}`);
  if (link === undefined) return text;
  return (
    <>
      {word !== undefined && `${word} `}
      {link}
    </>
  );
}

function linkOf(kind: string | undefined, id: string): ReactNode {
  switch (kind) {
    case 'Job':
      return (
        <Link to="/trees/$id" params={{ id }}>
          {id}
        </Link>
      );
    case 'JobItem':
      return (
        <Link to="/items/$id" params={{ id }} title={id}>
          JobItem:…:{shortId(id)}
        </Link>
      );
    case 'DeadLetterGroup':
      return (
        <Link to="/dead-letters/$id" params={{ id }}>
          {id}
        </Link>
      );
    case 'type':
    case 'types':
      return (
        <Link to="/queues/$type" params={{ type: id }}>
          {id}
        </Link>
      );
    case 'schedule':
      return <Link to="/schedules">{id}</Link>;
    default:
      return undefined;
  }
}
