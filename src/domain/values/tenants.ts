/**
 * A tenant is a prefix of the names that it uses: what its callers call `mail` is `acme//mail` in the tables. So claims, queues,
 * figures, serialize keys, schedules and everything else with a name keep tenants apart without knowing about them. The prefix is
 * added where a name comes in, and removed where it goes out (`schema/tenant-names.ts`).
 */
import { hash } from 'node:crypto';
import { InvalidInputError } from '../../errors.ts';

const tenantName = /^[a-z0-9-]{1,40}$/;
/** The prefix of a name that belongs to a tenant; `tenant_beginning` is the same in SQL. */
const anyBeginning = /^[a-z0-9-]{1,40}\/\//;

/** The prefix of all names of a tenant. */
export const beginningOf = (tenant: string) => `${tenant}//`;

/** The exclusive bounds of a tenant's names in byte order. */
export function namesOf(tenant: string | null): {
  readonly from: string | null;
  readonly until: string | null;
} {
  // 0 is the character after the slash.
  return tenant === null ? { from: null, until: null } : { from: beginningOf(tenant), until: `${tenant}/0` };
}

/** The tenant that a name belongs to; null if it belongs to none. */
export function tenantOf(name: string): string | null {
  return anyBeginning.exec(name)?.[0].slice(0, -2) ?? null;
}

/** A name without its tenant's prefix, if it has one. This is what limits of length apply to, and what messages show. */
export function withoutTenant(name: string): string {
  return name.replace(anyBeginning, '');
}

export function checkTenant(tenant: string, field = 'tenant'): string {
  if (!tenantName.test(tenant))
    throw new InvalidInputError(
      `${field} is ${JSON.stringify(tenant.slice(0, 80))}: it must be 1 to 40 of the characters a to z, 0 to 9 and -, without any wildcard.`,
      field,
    );
  return tenant;
}

/** The name as stored in the tables. */
export function toStored(tenant: string | null, name: string): string {
  return tenant === null ? name : beginningOf(tenant) + name;
}

/** The name as the tenant's callers know it. Names of others are left unchanged. */
export function toShown(tenant: string | null, name: string): string {
  if (tenant === null) return name;
  const beginning = beginningOf(tenant);
  return name.startsWith(beginning) ? name.slice(beginning.length) : name;
}

/** Replaces the names in a sentence with those that the tenant's callers know. */
export function inWordsOf(tenant: string | null, text: string): string {
  if (tenant === null) return text;
  const beginning = beginningOf(tenant);
  if (!text.includes(beginning)) return text;
  // Removes one prefix per name: a name may itself begin with the same letters, which may also occur inside another one.
  const names = new RegExp(`(?<![a-z0-9-])${beginning}(?:${beginning})*`, 'g');
  return text.replaceAll(names, (found) => found.slice(beginning.length));
}

/**
 * The id of a claim as stored in the tables: if two tenants choose the same one, each gets its own. Its first part, the time, is
 * kept. A text that is not an id is returned unchanged, to be refused later.
 */
export function toStoredClaimId(tenant: string | null, claimId: string): string {
  if (tenant === null || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(claimId)) return claimId;
  const digits = hash('sha256', `${tenant}/${claimId.toLowerCase()}`);
  return `${claimId.slice(0, 20)}${digits.slice(0, 3)}-${digits.slice(3, 15)}`;
}
