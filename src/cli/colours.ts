/** Colours for terminals. Node.js decides where: NO_COLOR and FORCE_COLOR count, then whether the stream is a terminal that has them. */
import { styleText } from 'node:util';

export type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

export function paint(colour: Colour, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(colour, text, { stream });
}

const colours: Readonly<Record<string, Colour>> = {
  succeeded: 'green',
  completed: 'green',
  delivered: 'green',
  failed: 'red',
  failing: 'red',
  partial: 'yellow',
  cancelled: 'yellow',
  paused: 'yellow',
  skipping: 'yellow',
  revoked: 'yellow',
};

/** The colour of a status, if it has one. */
export function colourOf(status: string): Colour | undefined {
  return colours[status];
}
