/** Loaded into a server's process: SIGUSR2 makes faults that nothing catches. */
process.on('SIGUSR2', () => {
  void Promise.reject(new Error('a rejection'));
  setImmediate(() => {
    throw new Error('an exception');
  });
});
