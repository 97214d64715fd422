/** What nobody waits for when the page opens: the search, the help, the keys, what can be undone, and where the focus goes. */
import { useRouter } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTexts } from '../texts/all.ts';
import { Help } from './help.tsx';
import { followHeadings, listenToKeys } from './keyboard.ts';
import { type KnownPage, Palette } from './palette.tsx';
import { UndoNotice } from './undo.tsx';

interface Shown {
  readonly kind: 'palette' | 'help';
  readonly number: number;
}

const next =
  (kind: Shown['kind']) =>
  (last: Shown | undefined): Shown => ({ kind, number: (last?.number ?? 0) + 1 });
const palette = next('palette');
const help = next('help');

export default function Conveniences({ pages }: { pages: readonly KnownPage[] }) {
  const t = useTexts();
  const router = useRouter();
  const [shown, setShown] = useState<Shown>();
  useEffect(() => listenToKeys({ openPalette: () => setShown(palette), openHelp: () => setShown(help) }), []);
  // The heading is in another language, too.
  useEffect(
    () =>
      followHeadings((listener) => {
        // What only filters or zooms leaves the focus where it is. Ids may be encoded or not, which the event's own pathChanged tells apart.
        const now = () => decodeURIComponent(router.state.location.pathname);
        let path = now();
        return router.subscribe('onRendered', () => {
          if (now() === path) return;
          path = now();
          listener();
        });
      }),
    [router, t],
  );
  // A dialog tells late that it was closed, when another may be open.
  const close = () => setShown((now) => (now === shown ? undefined : now));
  return (
    <div className="conveniences">
      <button type="button" aria-keyshortcuts="Control+K Meta+K" onClick={() => setShown(palette)}>
        {t.palette.open}
      </button>
      <button type="button" onClick={() => setShown(help)}>
        {t.help.title}
      </button>
      <UndoNotice />
      {shown?.kind === 'palette' && <Palette key={shown.number} pages={pages} onClose={close} />}
      {shown?.kind === 'help' && <Help key={shown.number} onClose={close} />}
    </div>
  );
}
