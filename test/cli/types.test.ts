/** `jobtree type` and `jobtree types`, and the examples of docs/typed-payloads.md as they stand there. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toTypeScript } from '../../src/cli/typescript.ts';
import { example } from '../support/documentation.ts';
import { useServer } from '../support/use-server.ts';
import { run, startShell } from './program.ts';

const server = useServer();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobtree-types-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

it('the documented commands work, and write TypeScript', async () => {
  const commands = example('typed-payloads.md', 'cli').replaceAll(/^jobtree/gm, '$JOBTREE');
  const { code, stdout, stderr } = await startShell(`cd ${folder} && set -e\n${commands}`, server.env).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [put, shown, ...rest] = stdout.split('\n');
  expect(put).toBe('Registered version 1 of sendFax.');
  expect(JSON.parse(shown ?? '')).toMatchObject({ type: 'sendFax', version: 1, result: null });
  expect(rest.join('\n')).toContain(example('typed-payloads.md', 'types'));
  expect(rest.join('\n')).toContain('\nDeleted.\n');
});

it("what can't be used is refused, with an exit code", async () => {
  const bad = join(folder, 'bad.json');
  const out = join(folder, 'types.ts');
  await writeFile(bad, '{"type": "strin"}');
  const env = { env: server.env };
  expect(await run(['type', 'put', 'x', '--payload', bad], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('payload is not a JSON Schema'),
  });
  expect(await run(['type', 'delete', 'x', '1'], env)).toMatchObject({ code: 4 });
  expect(await run(['types', '--out', out], env)).toEqual({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^\d+ types? written to \S+\.\n$/),
  });
  expect(await run(['types', '--out', '/no/such/folder'], env)).toMatchObject({
    code: 1,
    stderr: "jobtree: /no/such/folder can't be written: there is no such folder.\n",
  });
  expect(await readFile(out, 'utf8')).toContain('export interface Types');
});

it('TypeScript has each version, their union and valid names, and nothing that a schema smuggles in', async () => {
  const schema = (type: string, version: number, payload: unknown) => ({
    type,
    version,
    payload,
    result: null,
    createdAt: '',
  });
  const line = { type: 'object', properties: { title: { type: 'string', title: 'Line' } } };
  const text = await toTypeScript([
    [
      schema('send-mail', 2, {
        type: 'object',
        required: ['lines'],
        properties: { lines: { type: 'array', items: { $ref: '#/$defs/line' } } },
        $defs: { line },
      }),
      schema('send-mail', 1, { description: 'A text. */ export const evil = 1; /*', type: 'string' }),
    ],
    [schema('send mail', 1, { enum: ['a', 1, null, "it's", '{"', 'b'] })],
    [schema('2"];', 1, true)],
  ]);
  expect(text).toContain('export type SendMailPayload = SendMailPayloadV2 | SendMailPayloadV1;');
  expect(text).toContain('export interface SendMailPayloadV2 {\n  lines: {\n    title?: string\n  }[]\n}');
  expect(text).toContain('export type SendMail_2PayloadV1 = (\'a\' | 1 | null | "it\'s" | "{\\"" | \'b\');');
  expect(text).toContain('export type Type2PayloadV1 = unknown;');
  expect(text.replaceAll(/\/\*[\s\S]*?\*\//g, '')).not.toContain('evil');
});
