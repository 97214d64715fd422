/** The page with its program, as the build of an application would bundle it. */
import { readFile } from 'node:fs/promises';
import { build } from 'esbuild';

const here = (name) => new URL(name, import.meta.url).pathname;
const { outputFiles } = await build({
  entryPoints: [here('page.jsx')],
  bundle: true,
  write: false,
  format: 'esm',
  jsx: 'automatic',
  define: {
    JOBTREE_URL: JSON.stringify(process.env.JOBTREE_URL ?? 'http://127.0.0.1:4000/graphql'),
    'process.env.NODE_ENV': '"production"',
  },
});
const program = outputFiles[0].text.replaceAll('</script', '<\\/script');
const frame = await readFile(here('index.html'), 'utf8');

export const html = frame.replace('<!-- script -->', () => `<script type="module">${program}</script>`);
