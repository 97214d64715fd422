/** Secrets and payloads are not in what is left of a server that crashes, in the spans of a client, nor in what commands say that fail. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, PermanentError, Worker } from '../../src/client/index.ts';
import { createAuthority, withoutOpenssl } from '../support/certificates.ts';
import { bearer, makeKey } from '../support/keys.ts';
import { freePort } from '../support/ports.ts';
import { cli, startServer, startServerProcess } from '../support/server.ts';
import { useDatabase } from '../support/use-server.ts';
import { run } from './program.ts';

const planted = (what: string) => `${what}${randomBytes(12).toString('hex')}`;
const db = useDatabase();
let folder: string;
let password: string;
let role: string;
let databaseUrl: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'jobtree-left-'));
  password = planted('pgpassword');
  role = `canary_${randomBytes(4).toString('hex')}`;
  await db.query(`create role ${role} superuser login password '${password}'`);
  const url = new URL(db.url);
  url.username = role;
  url.password = password;
  databaseUrl = url.href;
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await db.query(`drop role ${role}`);
});

/** Names what is found of it, and where. */
function search(
  texts: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, string>>,
): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) => {
    expect(secret.length, name).toBeGreaterThan(15);
    return Object.entries(texts)
      .filter(([, text]) => text.includes(secret))
      .map(([place]) => `${name} in ${place}`);
  });
}

describe('a crashing server', () => {
  const fault = new URL('fault.mjs', import.meta.url).href;

  it.each([
    ['an exception that nothing catches', 'SIGUSR2', 1],
    ['no memory left', 'SIGUSR1', null],
  ] as const)('by %s leaves none of it behind', async (_, signal, exitCode) => {
    const left = mkdtempSync(join(folder, 'crash-'));
    const port = String(await freePort());
    const env = {
      DATABASE_URL: databaseUrl,
      JOBTREE_PORT: port,
      JOBTREE_LOG_LEVEL: 'trace',
      JOBTREE_AUTH: 'keys,proxy',
      JOBTREE_PROXY_SECRET: planted('proxysecret'),
      JOBTREE_SECRETS_KEY: randomBytes(32).toString('base64'),
      AWS_SECRET_ACCESS_KEY: planted('s3secret'),
      NODE_OPTIONS: `--import ${fault} --max-old-space-size=300 --report-on-fatalerror --report-uncaught-exception --report-directory=${left}`,
    };
    const child = spawn(process.execPath, [cli, 'start'], {
      cwd: left,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
    await expect.poll(() => said, { timeout: 60_000 }).toContain('"msg":"ready"');

    const { key } = await makeKey(db, ['admin']);
    const [payload, result] = [planted('payload'), planted('result')];
    const client = createClient({ url: `http://127.0.0.1:${port}/graphql`, token: key, retryMs: 0 });
    const { id } = await client.createJob({ type: 'crashed', items: [{ payload }, { payload }] });
    const [held] = await client.claimItems('w', [{ type: 'crashed', limit: 2 }]);
    await client.reportOutcomes([{ assignmentId: held?.id ?? '', result }]);
    const watching = client.watchJob(id)[Symbol.asyncIterator]();
    await watching.next();
    const ended = once(child, 'exit');
    // With payloads under way.
    const adding = Array.from({ length: 20 }, () => client.addItems(id, [{ payload }]).catch(() => {}));
    child.kill(signal);
    expect((await ended)[0]).toBe(exitCode);
    await Promise.all(adding);
    await client.close();

    const texts: Record<string, string> = { 'what it said': said };
    for (const file of readdirSync(left)) texts[`the file ${file}`] = readFileSync(join(left, file), 'utf8');
    if (exitCode === null) {
      expect(said).toContain('heap out of memory');
      const [report = ''] = Object.keys(texts).filter((name) => name.includes('report.'));
      const { environmentVariables, ...rest } = JSON.parse(texts[report] ?? '');
      // As the page on security has it.
      const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
      const isExcluded = major > 22 || (major === 22 && minor >= 13);
      expect(environmentVariables === undefined).toBe(isExcluded);
      texts[report] = JSON.stringify(rest);
    } else {
      expect(said).toContain('uncaught fault');
    }
    const secrets = {
      'the password of Postgres': password,
      'the secret of the proxy': env.JOBTREE_PROXY_SECRET,
      'the key of secrets': env.JOBTREE_SECRETS_KEY.slice(0, 40),
      'the key of the store': env.AWS_SECRET_ACCESS_KEY,
      'a key': key.slice(8, 40),
      'a payload': payload,
      'a result': result,
    };
    expect(search(texts, secrets)).toEqual([]);
  });
});

describe.skipIf(withoutOpenssl)('a server with TLS that gets files', () => {
  it('reveals nothing of its key or of file contents in any error', async () => {
    const authority = createAuthority();
    const { certFile, keyFile } = authority.issue(['IP:127.0.0.1']);
    const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
    copyFileSync(certFile, files.certFile);
    copyFileSync(keyFile, files.keyFile);
    const [uploaded, broken] = [planted('uploaded'), planted('broken')];
    const { key } = await makeKey(db, ['admin']);
    const env = {
      JOBTREE_LOG_LEVEL: 'trace',
      JOBTREE_AUTH: 'keys',
      JOBTREE_METRICS: 'true',
      JOBTREE_TLS_CERT_FILE: files.certFile,
      JOBTREE_TLS_KEY_FILE: files.keyFile,
    };
    const server = await startServerProcess(db.url, env);
    const texts: Record<string, string> = {};
    const ask = async (path: string, body?: string, headers: Record<string, string> = {}) => {
      const method = body === undefined ? 'GET' : 'POST';
      const sent = request(new URL(path, server.url), {
        method,
        agent: false,
        ca: authority.cert,
        headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
      }).end(body);
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const answer = await text(response);
      texts[`${method} ${path} (${Object.keys(texts).length})`] = answer;
      return answer;
    };
    const operate = async (query: string) =>
      JSON.parse(await ask('/graphql', JSON.stringify({ query }))).data;
    const bytes = { 'content-type': 'application/octet-stream' };

    // Rows that can be read, and one that can't.
    const rows = `{"card": "${uploaded}"}\n{"card": "${broken}\n`;
    const { id: uploadId } = JSON.parse(await ask('/api/uploads', rows, bytes));
    const wrongDigest = { ...bytes, 'repr-digest': `sha-256=:${randomBytes(32).toString('base64')}:` };
    expect(await ask('/api/uploads', rows, wrongDigest)).toContain('DIGEST_MISMATCH');
    const file = `file: { source: { uploadId: "${uploadId}" }, format: NDJSON }`;
    const { createJob } = await operate(
      `mutation { createJob(input: { type: "filed", ${file} }) { ... on CreateJobPayload { job { id } } } }`,
    );
    const state = `{ job(id: "${createJob.job.id}") { sealedAt import { status badLines } } }`;
    await expect
      .poll(async () => (await operate(state)).job.import.status, { timeout: 20_000 })
      .toBe('COMPLETED');
    await ask('/metrics');

    // The key of another certificate, and half of one.
    for (const one of [
      readFileSync(authority.issue(['IP:127.0.0.1']).keyFile),
      readFileSync(keyFile).subarray(0, 120),
    ]) {
      const before = server.output().length;
      writeFileSync(files.keyFile, one);
      await expect
        .poll(() => server.output().slice(before), { timeout: 20_000 })
        .toContain('the previous certificate stays in use');
      await ask('/readyz');
    }
    expect(await server.end()).toBe(0);
    texts['what it said'] = server.output();
    const [, inKey = ''] = /KEY-----\s+(\S+)/.exec(readFileSync(keyFile, 'utf8')) ?? [];
    authority.remove();
    const secrets = {
      'the key of TLS': inKey.slice(10, 50),
      'a row': uploaded,
      'a bad row': broken,
      'a key': key.slice(8, 40),
    };
    expect(search(texts, secrets)).toEqual([]);
  });
});

it('spans of a client and a worker contain no secret, even when they fail', async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  const app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  const { key } = await makeKey(db, ['admin']);
  const wrong = `jobtree_${planted('wrong').padEnd(49, '0')}`;
  const [payload, result, failed] = [planted('payload'), planted('result'), planted('failed')];
  const errors: Record<string, string> = {};
  try {
    const client = createClient({ url: app.url, token: key, retryMs: 0 });
    const refused = createClient({ url: app.url, token: wrong, retryMs: 0 });
    const away = createClient({ url: 'http://127.0.0.1:9/graphql', token: key, retryMs: 0 });
    const job = {
      type: 'traced',
      items: [{ payload: { card: payload } }, { payload: { card: failed } }],
      sealed: true,
    };
    for (const [name, one] of Object.entries({ refused, away }))
      await one.createJob(job).catch((error) => {
        errors[`the error of ${name}`] = `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
      });
    expect(Object.keys(errors)).toHaveLength(2);
    const { id } = await client.createJob(job);
    const worker = new Worker({
      client,
      types: {
        traced: {
          concurrency: 1,
          handler: async ({ card }: { card: string }) => {
            if (card === failed) throw new PermanentError('no', { code: 'BAD' });
            return { got: result };
          },
        },
      },
    } as never);
    worker.on('failed', () => {});
    await worker.start();
    for await (const progress of client.watchJob(id)) if (progress.status === 'COMPLETED') break;
    await worker.stop();
    await Promise.all([client.close(), refused.close(), away.close()]);
    const spans = exporter.getFinishedSpans();
    const names = spans.map(({ name }) => name.split(' ')[0]);
    for (const name of ['send', 'claim', 'process', 'report']) expect(names).toContain(name);
    const shown = spans.map(({ name, attributes, events, status, links, resource }) =>
      JSON.stringify({ name, attributes, events, status, links, resource: resource.attributes }),
    );
    const secrets = {
      'a key': key.slice(8, 40),
      'a wrong key': wrong.slice(8, 35),
      'a payload': payload,
      'a payload that failed': failed,
      'a result': result,
    };
    expect(search({ spans: shown.join('\n'), ...errors }, secrets)).toEqual([]);
  } finally {
    await app.close();
    await provider.shutdown();
    for (const part of [trace, context, propagation, metrics]) part.disable();
  }
});

it('messages of failing commands contain no secret', async () => {
  const app = await startServer(db.url, { JOBTREE_AUTH: 'keys' });
  const { key } = await makeKey(db, ['watcher']);
  const wrong = `jobtree_${planted('wrong').padEnd(49, '0')}`;
  const [payload, inUrl] = [planted('payload'), planted('inurl')];
  const rows = join(folder, 'rows.json');
  writeFileSync(rows, `[{"card": "${payload}"}, {"card": "${payload}`);
  const spec = join(folder, 'job.json');
  writeFileSync(spec, JSON.stringify({ type: '', items: [{ payload }] }));
  const url = { JOBTREE_URL: app.url };
  const secret = { DATABASE_URL: databaseUrl.replace('5432', '9') };
  const texts: Record<string, string> = {};
  for (const [args, env] of [
    [['jobs'], { ...url, JOBTREE_TOKEN: wrong }],
    [['watch', 'Job:x'], { ...url, JOBTREE_TOKEN: wrong }],
    [['api-keys', 'create', 'x', '--role', 'king'], { DATABASE_URL: databaseUrl }],
    [['api-keys', 'list'], { DATABASE_URL: databaseUrl.replace(password, `${password}x`) }],
    [['api-keys', 'list'], { DATABASE_URL: databaseUrl.replace(/:\d+\//, ':9/') }],
    [['api-keys', 'list'], { DATABASE_URL: databaseUrl.replace(/:\d+\//, ':port/') }],
    [['start'], { DATABASE_URL: databaseUrl.replace(/:\d+\//, ':port/') }],
    [['start'], { ...secret, DATABASE_URL: `${databaseUrl}#/%`, JOBTREE_PROXY_SECRET: 'short' }],
    [['doctor'], { DATABASE_URL: databaseUrl.replace(password, `${password}x`), ...url }],
    [['jobs'], { JOBTREE_URL: `http://u:${inUrl}@127.0.0.1:9/graphql` }],
    [['jobs'], { JOBTREE_URL: `http://u:${inUrl}@127.0.0.1:port/graphql` }],
    [['watch', 'Job:x', '--url', `http://u:${inUrl}@127.0.0.1:9/graphql`], {}],
    [['create', spec], { ...url, JOBTREE_TOKEN: key }],
    [['import', rows, '--type', 't'], { ...url, JOBTREE_TOKEN: key }],
    [['import', rows, '--type', 't', '--upload'], { ...url, JOBTREE_TOKEN: wrong }],
    [['no-such-command'], { ...url, JOBTREE_TOKEN: key, ...secret }],
  ] as const) {
    const { code, stdout, stderr } = await run([...args], { env: { ...env, JOBTREE_PORT: '0' } });
    expect(code, args.join(' ')).not.toBe(0);
    texts[`${args.slice(0, 2).join(' ')} (${Object.keys(texts).length})`] = stdout + stderr;
  }
  await app.close();
  const secrets = {
    'the password of Postgres': password,
    'a password in the address': inUrl,
    'a key': key.slice(8, 40),
    'a wrong key': wrong.slice(8, 35),
    'a payload': payload,
  };
  expect(search(texts, secrets)).toEqual([]);
});
