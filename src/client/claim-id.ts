/** A new UUID of version 7: the time in milliseconds, then random bits. */
export function newClaimId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}
