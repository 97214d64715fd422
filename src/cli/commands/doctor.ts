/** `jobtree doctor`: what is wrong with an installation, since when, and what to do. Changes nothing. */
import { type Config, readConfig } from '../../config/config.ts';
import { examineEverything } from '../../doctor/everything.ts';
import type { Finding } from '../../doctor/finding.ts';
import { CommandError } from '../command-error.ts';
import { openDatabase } from '../database.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../figures.ts';
import { print, visible } from '../output.ts';
import { wrap } from '../width.ts';

export interface DoctorOptions {
  readonly url?: string;
  readonly json?: true;
  /** In milliseconds. */
  readonly patience: number;
}

export async function doctor(options: DoctorOptions): Promise<number> {
  const config = readConfig(process.env);
  const database = await openDatabase(config, { create: false }).catch((error: Error) => {
    if (options.url === undefined || error.name !== 'EmbeddedPostgresError') throw error;
    throw new CommandError(
      exitCodes.failure,
      `doctor reads the database itself; --url only says which server to ask as well. ${error.message}`,
    );
  });
  const counts = { ok: 0, warning: 0, sick: 0 };
  try {
    const { isReachable } = await examineEverything(
      {
        config,
        databaseUrl: database.url,
        apiUrl: options.url ?? urlOf(config),
        isApiNamed: options.url !== undefined,
        patienceMs: options.patience,
      },
      (finding) => {
        counts[finding.status]++;
        print(options.json ? `${JSON.stringify(finding)}\n` : describe(finding));
      },
    );
    if (!options.json) print(summary(counts));
    if (!isReachable) return exitCodes.unreachable;
    if (counts.sick > 0) return exitCodes.sick;
    return counts.warning > 0 ? exitCodes.warnings : exitCodes.success;
  } finally {
    await database.stop();
  }
}

/** Where a server with these settings is, as seen from this machine. */
function urlOf({ host, port, tls }: Config): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const name = isEverywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}/graphql`;
}

function describe({ check, status, message, since, advice }: Finding): string {
  const head = `${status.padEnd(7)}  ${check.padEnd(15)}  `;
  // What types and workers are called may be longer as it is shown.
  const lines = [
    ...visible(message).split('\n'),
    ...(since === null ? [] : [`since ${since.toISOString()}`]),
    ...(advice === null ? [] : [visible(`→ ${advice}`)]),
  ];
  const columns = process.stdout.isTTY ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY;
  // Where there is little room, what is found stands below its name.
  if (columns < 2 * head.length)
    return [head.trimEnd(), ...lines.map((line) => wrap(`  ${line}`, columns, '  ')), ''].join('\n');
  const indent = ' '.repeat(head.length);
  return `${head}${lines
    .map((line) => wrap(indent + line, columns, indent))
    .join('\n')
    .trimStart()}\n`;
}

function summary({ warning, sick }: { warning: number; sick: number }): string {
  if (warning + sick === 0) return 'No problems found.\n';
  return `${sick} sick, ${counted(warning, 'warning')}.\n`;
}
