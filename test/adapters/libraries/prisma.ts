import { PrismaPg } from '@prisma/adapter-pg';
import { addItems, createJob, enqueue } from '../../../src/adapters/prisma.ts';
import { PrismaClient } from '../../../src/generated/prisma/client.ts';
import { insert, type Library } from '../library.ts';

export function open(url: string): Library {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  return {
    transaction: (work) =>
      prisma.$transaction((tx) =>
        work({
          saveOrder: (id) => tx.$executeRawUnsafe(insert(id)),
          createJob: (...args) => createJob(tx, ...args),
          enqueue: (...args) => enqueue(tx, ...args),
          addItems: (...args) => addItems(tx, ...args),
        }),
      ),
    close: () => prisma.$disconnect(),
  };
}
