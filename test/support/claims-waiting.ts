import { expect } from 'vitest';
import { eventually } from './eventually.ts';

/** Resolves once so many claims wait at the server, by its metrics. */
export async function claimsWaiting(url: string, count: number, headers = {}): Promise<void> {
  await eventually(async () => {
    const metrics = await (await fetch(url.replace('/graphql', '/metrics'), { headers })).text();
    expect(metrics).toMatch(new RegExp(`^jobtree_claims_waiting(\\{[^}]*\\})? ${count}$`, 'm'));
  });
}
