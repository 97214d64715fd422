/** The schemas that the payloads of a type match, beside the field where one is written: read when they are unfolded, by those who may. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { PayloadSchemas } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useMay } from '../data/viewer.ts';
import { useTexts } from '../texts/all.ts';
import { Answer } from './ask.tsx';
import { Json } from './facts.tsx';

/** Without a type, it takes the room that it will take. */
export function PayloadSchema({ type }: { type: string | undefined }) {
  const t = useTexts();
  const [isOpen, setIsOpen] = useState(false);
  if (!useMay()('LIST')) return null;
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{t.item.schema}</summary>
      {isOpen && type !== undefined && <Schemas type={type} />}
    </details>
  );
}

function Schemas({ type }: { type: string }) {
  const t = useTexts();
  const query = useQuery({
    queryKey: ['payload schemas', type],
    queryFn: ({ signal }) => ask(PayloadSchemas, { type }, signal),
  });
  return (
    <Answer query={query}>
      {({ typeSchemas }) => {
        const schemas = typeSchemas?.filter(({ payload }) => payload != null) ?? [];
        if (schemas.length === 0) return <p>{t.item.noSchema}</p>;
        return schemas.map(({ version, payload }) => (
          <div key={version}>
            <p className="quiet">{t.item.schemaOf(type, version)}</p>
            <Json value={payload} label={t.item.schemaOf(type, version)} />
          </div>
        ));
      }}
    </Answer>
  );
}
