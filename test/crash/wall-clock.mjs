/** Loaded into a server's processes: with SIGUSR2 the wall clock of the process steps back by an hour, or forward again. */
const hourMs = 3_600_000;
const RealDate = Date;
let shiftMs = 0;

class SteppingDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + shiftMs);
    else super(...args);
  }

  static now() {
    return RealDate.now() + shiftMs;
  }
}
Object.defineProperty(SteppingDate, 'name', { value: 'Date' });
globalThis.Date = SteppingDate;

process.on('SIGUSR2', () => {
  shiftMs = shiftMs === 0 ? -hourMs : 0;
  process.stderr.write(`wall clock of ${process.pid}: ${shiftMs} ms\n`);
});
