/** What was told to whom, and what they answered. */
import { Deliveries } from '../parts/callbacks.tsx';
import { useTexts } from '../texts/all.ts';

const all = {};

export default function CallbacksScreen() {
  const t = useTexts();
  return (
    <>
      <h1>{t.callbacks.title}</h1>
      <Deliveries filter={all} />
    </>
  );
}
