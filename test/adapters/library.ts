/** An application that saves orders, whatever library it talks to Postgres with. */
import type {
  AdapterOptions,
  AddItemsResult,
  AddOptions,
  EnqueueOptions,
  ItemSpec,
  JobSpec,
} from '../../src/adapters/pg.ts';

/** What an adapter does in one transaction. */
export interface Transaction {
  saveOrder(id: number): Promise<unknown>;
  createJob(...args: [job: JobSpec, options?: AdapterOptions]): Promise<{ id: string; created: boolean }>;
  enqueue(
    ...args: [type: string, payload: unknown, options?: EnqueueOptions]
  ): Promise<{ id: string; created: boolean }>;
  addItems(
    ...args: [jobId: string, items: readonly ItemSpec[], options?: AddOptions]
  ): Promise<AddItemsResult>;
}

export interface Library {
  /** Rolls back if `work` throws. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<unknown>;
}

export const insert = (id: number) => `insert into orders (id) values (${id})`;
