/** A line at the bottom of a terminal that changes in place; other lines appear above it. */
import { shorten } from './width.ts';

const everyMs = 250;
/** The terminal shows `^C` behind the line: a line that it broke there would stay in part. */
const roomForCtrlC = 3;

export class LiveLine {
  readonly #stream: NodeJS.WriteStream;
  readonly #text: () => string;
  readonly #timer: NodeJS.Timeout;
  #shown = '';

  /** `text`: what the line says now; clean, without colours. */
  constructor(stream: NodeJS.WriteStream, text: () => string) {
    this.#stream = stream;
    this.#text = text;
    this.#timer = setInterval(() => this.#draw(), everyMs);
  }

  /** Writes clean text, which may have colours, above the line. */
  writeAbove(line: string): void {
    this.#stream.write(`\r\x1b[K${line}\n`);
    this.#shown = '';
    this.#draw();
  }

  /** Removes the line. */
  end(): void {
    clearInterval(this.#timer);
    this.#stream.write('\r\x1b[K');
  }

  #draw(): void {
    const line = shorten(this.#text(), (this.#stream.columns || 80) - roomForCtrlC, 'end');
    if (line === this.#shown) return;
    this.#shown = line;
    this.#stream.write(`\r\x1b[K${line}`);
  }
}
