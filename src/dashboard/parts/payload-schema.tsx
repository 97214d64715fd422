/** The schemas that the payloads of a type match, beside the field where one is written: folded, and for those who may read them. */
import { useQuery } from '@tanstack/react-query';
import { PayloadSchemas } from '../../generated/dashboard.ts';
import { ask } from '../data/connection.ts';
import { useMay } from '../data/viewer.ts';
import { useTexts } from '../texts/all.ts';
import { Json } from './facts.tsx';

export function PayloadSchema({ type }: { type: string }) {
  const t = useTexts();
  const { data } = useQuery({
    queryKey: ['payload schemas', type],
    queryFn: ({ signal }) => ask(PayloadSchemas, { type }, signal),
    enabled: useMay()('LIST'),
  });
  return data?.typeSchemas?.map(
    ({ version, payload }) =>
      payload != null && (
        <details key={version}>
          <summary>{t.item.schema(type, version)}</summary>
          <Json value={payload} label={t.item.schema(type, version)} />
        </details>
      ),
  );
}
