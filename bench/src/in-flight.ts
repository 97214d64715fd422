/** Makes `calls` calls in order, `width` of them at a time. */
export async function inFlight(
  calls: number,
  width: number,
  call: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(width, calls) }, async () => {
      while (next < calls) await call(next++);
    }),
  );
}
