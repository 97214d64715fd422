/** What nobody waits for when the page opens: the search, the help, the keys, and where the focus goes. */
import { useRouter } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Help } from './help.tsx';
import { followHeadings, listenToKeys } from './keyboard.ts';
import { type KnownPage, Palette } from './palette.tsx';

export default function Conveniences({ pages }: { pages: readonly KnownPage[] }) {
  const t = useTexts();
  const router = useRouter();
  const [shown, setShown] = useState<'palette' | 'help'>();
  useEffect(
    () => listenToKeys({ openPalette: () => setShown('palette'), openHelp: () => setShown('help') }),
    [],
  );
  // The heading is in another language, too.
  useEffect(
    () =>
      followHeadings((listener) =>
        router.subscribe('onRendered', ({ pathChanged }) => pathChanged && listener()),
      ),
    [router, t],
  );
  const close = () => setShown(undefined);
  return (
    <div className="conveniences">
      <button type="button" aria-keyshortcuts="Control+K Meta+K" onClick={() => setShown('palette')}>
        {t.palette.open}
      </button>
      <button type="button" onClick={() => setShown('help')}>
        {t.help.title}
      </button>
      {shown === 'palette' && <Palette pages={pages} onClose={close} />}
      {shown === 'help' && <Help onClose={close} />}
    </div>
  );
}
