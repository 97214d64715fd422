/** DATABASE_URL, which may name several hosts, as for libpq: `postgres://user:password@first:5432,second:5432/database`. */
const form = /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^@/?]*,[^@/?]*)(.*)$/s;

/** A URL for each host. */
export function eachHost(url: string): readonly string[] {
  const [, beginning, hosts, rest] = form.exec(url) ?? [];
  return hosts === undefined ? [url] : hosts.split(',').map((host) => `${beginning}${host}${rest}`);
}
