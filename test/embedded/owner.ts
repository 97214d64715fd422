/**
 * A program that uses the embedded Postgres as the service does: starts it, says so, and stops it when its input ends.
 * On SIGINT it still queries before it stops, as a service does that finishes its work first.
 * As `owner.ts <options> forgetful` it ends without stopping anything.
 */
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/start.ts';

const [options = '', manner] = process.argv.slice(2);
const postgres = await startEmbeddedPostgres(JSON.parse(options));
if (manner !== 'forgetful') {
  process.stdin.on('end', () => void finish()).resume();
  process.on('SIGINT', () => void drain().then(finish));
}
console.log(JSON.stringify(postgres));

async function drain(): Promise<void> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  const { rows } = await client.query("SELECT 'drained' AS state");
  await client.end();
  console.log(rows[0].state);
}

async function finish(): Promise<void> {
  await postgres.stop();
  process.exit();
}
