/** Everything that can be clicked can be written down: as GraphQL, as a command, as a link. */
import { useState } from 'react';
import { useTexts } from '../texts/all.ts';
import { stringify } from './json.ts';

export function CopyButton(props: { label: string; text: () => string; isMain?: boolean }) {
  const { label, text, isMain = false } = props;
  const t = useTexts();
  const [isDone, setIsDone] = useState(false);
  // It stays until the next copy: if it went with the focus, what is clicked next would move away under the pointer.
  const copy = async () => {
    setIsDone(false);
    await navigator.clipboard.writeText(text());
    setIsDone(true);
  };
  return (
    <button type="button" className={isMain ? 'primary' : 'quiet'} onClick={() => void copy()}>
      {label}
      <span role="status">{isDone && ` ✓ ${t.copy.done}`}</span>
    </button>
  );
}

/** An operation and its variables as GraphiQL takes them. */
export function inGraphql(document: { toString(): string }, variables: unknown): string {
  const text = document.toString().replace(/^ {4}/gm, '').trim();
  return variables === undefined ? `${text}\n` : `${text}\n\n# Variables\n${stringify(variables, 2)}\n`;
}

/** An option of a command, quoted for a shell; nothing without values. */
export function asOption(name: string, values: readonly string[] | null | undefined): string {
  if (values == null || values.length === 0) return '';
  return ` ${name} ${values.map(quoted).join(' ')}`;
}

/** The payload that was entered, if one was. */
export const asPayload = ({ payload }: { readonly payload?: unknown }) =>
  payload === undefined ? '' : ` --payload ${quoted(stringify(payload))}`;

/** A word for a shell. */
export const quoted = (word: string) =>
  /^[\w:.@/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
