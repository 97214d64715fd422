/**
 * A tenant is the beginning of the names that it uses: what its callers call `mail` is `acme//mail` in the tables. So claims, queues, figures,
 * serialize keys, schedules and whatever else goes by a name keeps tenants apart without knowing of them. The beginning is put on where a
 * name comes in, and taken off where it goes out (`schema/tenant-names.ts`).
 */
import { hash } from 'node:crypto';
import { InvalidInputError } from '../errors.ts';

const tenantName = /^[a-z0-9-]{1,40}$/;
/** Of a name that belongs to a tenant; `tenant_beginning` says the same in SQL. */
const anyBeginning = /^[a-z0-9-]{1,40}\/\//;

/** What all names of a tenant begin with. */
export const beginningOf = (tenant: string) => `${tenant}//`;

/** Between which texts, without these, the names of a tenant stand: where they are ordered by their bytes. */
export function namesOf(tenant: string | null): {
  readonly from: string | null;
  readonly until: string | null;
} {
  // What comes after a slash is 0.
  return tenant === null ? { from: null, until: null } : { from: beginningOf(tenant), until: `${tenant}/0` };
}

/** The tenant that a name belongs to; null for none. */
export function tenantOf(name: string): string | null {
  return anyBeginning.exec(name)?.[0].slice(0, -2) ?? null;
}

/** A name without the tenant that it belongs to, if it belongs to one: its length counts, and it is what messages call it. */
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

/** Whether a name is one of the tenant's; every name is one of nobody's. */
export function belongsTo(tenant: string | null, name: string): boolean {
  return tenant === null || name.startsWith(beginningOf(tenant));
}

/** A name as the tables have it. */
export function toStored(tenant: string | null, name: string): string {
  return tenant === null ? name : beginningOf(tenant) + name;
}

/** A name as the tenant's callers have it. What is not theirs stays as it is. */
export function toShown(tenant: string | null, name: string): string {
  if (tenant === null) return name;
  const beginning = beginningOf(tenant);
  return name.startsWith(beginning) ? name.slice(beginning.length) : name;
}

/** A sentence with names in it, as the tenant's callers have them. */
export function inWordsOf(tenant: string | null, text: string): string {
  if (tenant === null) return text;
  const beginning = beginningOf(tenant);
  if (!text.includes(beginning)) return text;
  // One beginning of each name: a name may go on with the same letters, and they may stand within another one.
  const names = new RegExp(`(?<![a-z0-9-])${beginning}(?:${beginning})*`, 'g');
  return text.replaceAll(names, (found) => found.slice(beginning.length));
}

/**
 * The id of a claim as the tables have it: of two tenants that choose the same one, each has its own. It keeps the time with which it begins;
 * what is no id stays as it is, to be refused.
 */
export function toStoredClaimId(tenant: string | null, claimId: string): string {
  if (tenant === null || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(claimId)) return claimId;
  const digits = hash('sha256', `${tenant}/${claimId.toLowerCase()}`);
  return `${claimId.slice(0, 20)}${digits.slice(0, 3)}-${digits.slice(3, 15)}`;
}
