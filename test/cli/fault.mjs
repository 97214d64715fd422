/** Loaded into a server's process: SIGUSR2 makes faults that nothing catches, and SIGUSR1 takes all of its memory. */
process.on('SIGUSR2', () => {
  void Promise.reject(new Error('a rejection'));
  setImmediate(() => {
    throw new Error('an exception');
  });
});
process.on('SIGUSR1', () => {
  const taken = [];
  for (;;) taken.push(Array.from({ length: 10_000 }, Math.random));
});
