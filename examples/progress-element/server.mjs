/** A page that allows no inline code or style, with a bar for a tree of twenty items. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { build } from 'esbuild';
import { createClient } from 'jobtree-client';

const api = new URL(process.env.JOBTREE_URL ?? 'http://127.0.0.1:4000/graphql');
const page = await readFile(new URL('index.html', import.meta.url), 'utf8');
const { outputFiles } = await build({
  stdin: { contents: "import 'jobtree-client/element';", resolveDir: import.meta.dirname },
  bundle: true,
  minify: true,
  write: false,
  format: 'esm',
});

const client = createClient({ url: api.href });
const items = Array.from({ length: 20 }, (_, row) => ({ payload: { row } }));
const { id } = await client.createJob({ type: 'import', items, sealed: true });
await client.close();

const policy = `default-src 'none'; script-src 'self'; connect-src ${api.origin} ws://${api.host}`;
const server = createServer(({ url }, response) => {
  if (url === '/progress.js')
    return response.setHeader('content-type', 'text/javascript').end(outputFiles[0].text);
  response.setHeader('content-type', 'text/html; charset=utf-8').setHeader('content-security-policy', policy);
  return response.end(page.replace('JOBTREE_URL', api.href).replace('JOBTREE_TREE', id));
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}/`),
);
