/** Everything that can be clicked can be written down: as GraphQL, as a command, as a link. */
import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';

export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const t = useTexts();
  const [isDone, setIsDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    setIsDone(true);
  };
  return (
    <button type="button" className="quiet" onClick={() => void copy()} onBlur={() => setIsDone(false)}>
      {label}
      <span role="status">{isDone && ` ✓ ${t.copy.done}`}</span>
    </button>
  );
}

/** An operation and its variables as GraphiQL takes them. */
export function inGraphql(document: { toString(): string }, variables: unknown): string {
  const text = document.toString().replace(/^ {4}/gm, '').trim();
  return variables === undefined
    ? `${text}\n`
    : `${text}\n\n# Variables\n${JSON.stringify(variables, null, 2)}\n`;
}
