/** `jobtree psql`: psql on the database of the settings, or how to reach that with something else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readConfig } from '../../config/config.ts';
import { eachHost } from '../../config/postgres-url.ts';
import { CommandError } from '../command-error.ts';
import { openDatabase } from '../database.ts';
import { exitCodes } from '../exit-codes.ts';
import { printErrorField } from '../fields.ts';
import { isRunnable } from '../work/find-program.ts';

const program = 'psql';

export async function psql(args: readonly string[]): Promise<number> {
  const config = readConfig(process.env);
  const database = await openDatabase(config, { create: false });
  try {
    if (!isRunnable(program)) {
      const address =
        config.databaseUrl !== undefined
          ? 'the address in DATABASE_URL'
          : database.stopsWithUs
            ? 'the address that this command shows while `jobtree start` runs'
            : database.url;
      throw new CommandError(
        exitCodes.failure,
        `psql is not installed. Install it (Debian and Ubuntu: apt-get install postgresql-client; macOS: brew install libpq), or connect another program to ${address}`,
      );
    }
    printErrorField('Postgres', database.description);
    return await open(config.directDatabaseUrl ?? database.url, args);
  } finally {
    await database.stop();
  }
}

/** The address goes by the environment: arguments are for all who use the machine to see. */
async function open(url: string, args: readonly string[]): Promise<number> {
  // What Ctrl-C does there is for psql to say.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...environmentOf(url) } });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? exitCodes.failure;
  } finally {
    process.off('SIGINT', ignore);
  }
}

/** What libpq takes instead of a URL. */
export function environmentOf(url: string): Record<string, string> {
  const urls = eachHost(url);
  if (!urls.every((each) => URL.canParse(each)))
    throw new CommandError(exitCodes.usage, 'DATABASE_URL is not a URL.');
  const hosts = urls.map((each) => new URL(each));
  const { username, password, pathname, searchParams } = hosts[0] as URL;
  const given: [string, string | null][] = [
    [
      'PGHOST',
      searchParams.get('host') ??
        hosts.map(({ hostname }) => decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1')).join(),
    ],
    ['PGPORT', searchParams.get('port') ?? hosts.map(({ port }) => port).join()],
    ['PGTARGETSESSIONATTRS', hosts.length > 1 ? 'primary' : null],
    ['PGUSER', decodeURIComponent(username)],
    ['PGPASSWORD', decodeURIComponent(password)],
    ['PGDATABASE', decodeURIComponent(pathname.slice(1))],
    ['PGSSLMODE', searchParams.get('sslmode')?.replace(/^no-verify$/, 'require') ?? null],
    ['PGSSLROOTCERT', searchParams.get('sslrootcert')],
    ['PGSSLCERT', searchParams.get('sslcert')],
    ['PGSSLKEY', searchParams.get('sslkey')],
  ];
  const options = searchParams.get('options') ?? process.env.PGOPTIONS ?? '';
  return {
    ...Object.fromEntries(given.filter(([, value]) => value !== null && value !== '')),
    PGOPTIONS: `${options} -c search_path=jobtree,public`.trim(),
  };
}
