/**
 * An application in a process of its own, with the arguments URL and FIRST. It takes orders, each in a transaction with its job, several at a
 * time, rolls every third back, and says which it has committed, until it is killed.
 */
import type { Library } from './library.ts';

export async function takeOrders(open: (url: string) => Library): Promise<void> {
  const [url = '', first = '0'] = process.argv.slice(2);
  const library = open(url);
  let order = Number(first);
  const take = async () => {
    for (;;) {
      const id = order++;
      await takeOrder(library, id).then(
        () => process.stdout.write(`${id}\n`),
        (error: Error) => {
          if (error.message !== 'no stock') throw error;
        },
      );
    }
  };
  await Promise.all(Array.from({ length: 4 }, take));
}

function takeOrder(library: Library, id: number): Promise<void> {
  return library.transaction(async (tx) => {
    // The job first or the order first: neither may come without the other.
    if (id % 2 === 0) await tx.saveOrder(id);
    const job = await tx.createJob({ type: 'ship', dedupeKey: `${id}`, items: [{ payload: id }] });
    await tx.addItems(job.id, [{ payload: id }], { seal: true });
    if (id % 2 === 1) await tx.saveOrder(id);
    if (id % 3 === 0) throw new Error('no stock');
  });
}
