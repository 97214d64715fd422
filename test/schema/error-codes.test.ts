/** The page on errors has the codes that there are: no more, no fewer. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { errorCodes } from '../../src/errors.ts';

const sources = (...folders: string[]) =>
  folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|sql)$/.test(file))
      .map((file) => readFileSync(`${folder}/${file}`, 'utf8')),
  );

const found = (texts: readonly string[], pattern: RegExp) =>
  texts.flatMap((text) => Array.from(text.matchAll(pattern), ([, ...groups]) => groups.find(Boolean) ?? ''));

const page = readFileSync('docs/errors.md', 'utf8');
const listed = (title: string) => {
  const [, section = ''] = page.split(`## ${title}\n`);
  return found([section.split('\n## ')[0] ?? ''], /^\| `([A-Z_]+)` \|/gm).toSorted();
};
const unique = (codes: readonly string[]) => [...new Set(codes)].toSorted();

/** Those of the libraries that parse, validate and choose an operation. */
const ofGraphql = ['GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED', 'OPERATION_RESOLUTION_FAILURE'];

it('lists every code of an answer', () => {
  const server = sources('src/server', 'src/schema');
  const [, uploadCodes = ''] = /type UploadErrorCode =([^;]*);/.exec(server.join('\n')) ?? [];
  expect(listed('Codes in answers')).toEqual(
    unique([
      ...Object.keys(errorCodes),
      ...found(server, /\bcode: '([A-Z_]+)'/g),
      ...found([uploadCodes], /'([A-Z_]+)'/g),
      ...ofGraphql,
    ]),
  );
});

it('lists every code that only the client has', () => {
  const [text = ''] =
    /export type ClientErrorCode =[^;]*;/.exec(readFileSync('src/client/errors.ts', 'utf8')) ?? [];
  const answers = new Set(listed('Codes in answers'));
  expect(listed('Codes of the client')).toEqual(
    unique(found([text], /'([A-Z_]+)'/g)).filter((code) => !answers.has(code)),
  );
});

it('lists every code of failures that jobtree itself creates', () => {
  expect(listed('Codes of failures')).toEqual(
    unique([
      ...found(
        sources('prisma/functions'),
        /null, '([A-Z]+)', e\.message\)::jobtree\.dead_item|"code": "([A-Z_]+)"/g,
      ),
      ...found(sources('src/domain', 'src/files'), /\bcode(?:: | \?\? )'([A-Z_]+)'/g),
      ...found(
        [...sources('src/client/worker'), readFileSync('src/client/errors.ts', 'utf8')],
        /^\s*'([A-Z_]+)',$|\bcode(?:: | \?\? )'([A-Z_]+)'|permanent\([^)]*?, '([A-Z_]+)'/gm,
      ),
    ]),
  );
});
