/** What a handler notes and logs about its item, until it is sent. */
import type { ItemNoteInput } from '../../generated/operations.ts';
import { textOf } from './text-of.ts';

/** The server's limits: characters of a text, lines of an item. */
const maxLength = 500;
const maxLines = 50;

export class ItemNotes {
  #note: string | undefined;
  readonly #lines: { readonly at: string; readonly text: string }[] = [];
  #hasNote = false;
  #hasLines = false;

  note(text: string): void {
    this.#note = fit(text);
    this.#hasNote = true;
  }

  log(text: string): void {
    this.#lines.push({ at: new Date().toISOString(), text: fit(text) });
    if (this.#lines.length > maxLines) this.#lines.shift();
    this.#hasLines = true;
  }

  /** Whether there is anything unsent. */
  get isFresh(): boolean {
    return this.#hasNote || this.#hasLines;
  }

  /** The rough size of what has not been sent, in units of JSON text. */
  get size(): number {
    const note = this.#hasNote ? (this.#note ?? '').length : 0;
    return this.#hasLines ? this.#lines.reduce((sum, { text }) => sum + text.length + 50, note) : note;
  }

  /** Returns what has not been sent. It counts as sent unless `keep` is called. */
  take(assignmentId: string): ItemNoteInput {
    const input = {
      assignmentId,
      ...(this.#hasNote && { note: this.#note }),
      ...(this.#hasLines && { log: [...this.#lines] }),
    };
    this.#hasNote = false;
    this.#hasLines = false;
    return input;
  }

  /** The request failed: everything is sent again. */
  keep(): void {
    this.#hasNote = this.#note !== undefined;
    this.#hasLines = this.#lines.length > 0;
  }
}

function fit(text: string): string {
  const whole = textOf(text).replaceAll('\0', '\uFFFD');
  return (whole.length > maxLength ? `${whole.slice(0, maxLength - 1)}…` : whole).toWellFormed();
}
