/**
 * Keys that do something: rows by arrows, or by j and k; and what a row, or the screen, offers for a letter (`aria-keyshortcuts`). Single letters can be
 * turned off, since dictation and other tools send them unasked.
 */
const offKey = 'jobtree-single-keys-off';

export const usesLetters = () => localStorage.getItem(offKey) === null;

export function keepLetters(isOn: boolean): void {
  if (isOn) localStorage.removeItem(offKey);
  else localStorage.setItem(offKey, 'true');
}

export interface Commands {
  openPalette(): void;
  openHelp(): void;
}

/** Returns a function that ends it. */
export function listenToKeys(commands: Commands): () => void {
  const onKey = (event: KeyboardEvent) => {
    const act = actionOf(event, commands);
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}

function actionOf(event: KeyboardEvent, commands: Commands): (() => void) | undefined {
  const { key, target, defaultPrevented, altKey, ctrlKey, metaKey } = event;
  if (defaultPrevented || altKey || document.querySelector('dialog[open]') !== null) return undefined;
  if (ctrlKey || metaKey) return key.toLowerCase() === 'k' ? commands.openPalette : undefined;
  if (!(target instanceof Element)) return undefined;
  // A field in a dialog that was just closed has the focus for a moment longer.
  if (target.closest('input, textarea, select, [contenteditable]')?.checkVisibility()) return undefined;
  const row = target.closest<HTMLElement>(rows);
  if (row !== null) {
    if (key === 'ArrowDown') return () => move(row, 1);
    if (key === 'ArrowUp') return () => move(row, -1);
    if (key === 'Escape') return focusHeading;
  }
  if (!usesLetters()) return undefined;
  if (key === 'j') return () => move(row, 1);
  if (key === 'k') return () => move(row, -1);
  if (key === '?') return commands.openHelp;
  const offer = /^[exr]$/.test(key) ? offerOf(key, row) : undefined;
  return offer && (() => offer.click());
}

const rows = '#content .table [data-index]';

/** To the next row of any table, or the previous one: to its first link or button, so that Enter opens it. */
function move(from: HTMLElement | null, by: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(rows)];
  const next =
    from === null ? all.find((row) => row.getBoundingClientRect().bottom > 0) : all[all.indexOf(from) + by];
  if (next === undefined) return;
  const inside = next.querySelector<HTMLElement>('a[href], button');
  if (inside === null) next.tabIndex = -1;
  (inside ?? next).focus();
}

/** What the row offers for a letter; without a row, what the screen does outside its tables. */
function offerOf(letter: string, row: HTMLElement | null): HTMLElement | undefined {
  const offers = [
    ...document.querySelectorAll<HTMLElement>(`#content [aria-keyshortcuts="${letter}"]:not(:disabled)`),
  ];
  return offers.find((one) => one.closest(rows) === row);
}

export function focusHeading(): void {
  const heading = document.querySelector('h1');
  if (heading === null) return;
  heading.tabIndex = -1;
  heading.focus();
}

/**
 * Names the window after the screen's heading, and moves the focus there when the reader has gone to another screen. Screens that have to ask first get
 * their heading later, unless the reader is elsewhere by then.
 */
export function followHeadings(onScreen: (listener: () => void) => () => void): () => void {
  let observer: MutationObserver | undefined;
  const meet = (isNew: boolean) => {
    observer?.disconnect();
    const content = document.getElementById('content');
    const find = () => {
      const heading = content?.querySelector('h1');
      if (heading == null) return false;
      document.title = `${heading.textContent} – jobtree`;
      const { activeElement } = document;
      if (isNew && (activeElement === null || !isBusy(activeElement))) focusHeading();
      observer?.disconnect();
      return true;
    };
    if (content === null || find()) return;
    observer = new MutationObserver(find);
    observer.observe(content, { childList: true, subtree: true });
  };
  /** In a dialog, or typing. */
  const isBusy = (element: Element) => element.closest('dialog, input, textarea, select') !== null;
  meet(false);
  const stop = onScreen(() => meet(true));
  return () => {
    observer?.disconnect();
    stop();
  };
}
