import { useTexts } from '../texts/all.ts';
import { isolatedWithin } from '../texts/isolated.ts';
import { Time } from './time.tsx';

export function Failures({ failures }: { failures: readonly Failure[] }) {
  const t = useTexts();
  return (
    <ol className="failures">
      {failures.map(({ at, attempt, code, message, stack, worker }) => (
        <li key={`${attempt} ${at}`}>
          <p>
            <strong>{code}</strong> {isolatedWithin(message)}
          </p>
          <p className="quiet">
            {t.item.attempt} {attempt}, <Time at={at} />
            {worker != null && `, ${worker}`}
          </p>
          {stack != null && (
            <details>
              <summary>{t.item.stack}</summary>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled with the keyboard */}
              <pre tabIndex={0}>{stack}</pre>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

interface Failure {
  readonly at: string;
  readonly attempt: number;
  readonly code: string;
  readonly message: string;
  readonly stack?: string | null;
  readonly worker?: string | null;
}
