/** The server of an application: it knows its users, creates jobs for them with its API key, and gives each user tokens for their own jobs. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createClient } from 'jobtree-client';
import { html } from './html.mjs';

// Reads JOBTREE_URL and JOBTREE_TOKEN, the API key, which never leaves this server.
const jobtree = createClient();
/** The jobs of each user, by session. In this example, whoever opens the page is logged in. */
const sessions = new Map();

const server = createServer(async ({ method, url, headers }, response) => {
  const session = /session=([\w-]+)/.exec(headers.cookie ?? '')?.[1];
  const jobIds = sessions.get(session);
  const jobId = /^\/imports\/([\w:-]+)\/token$/.exec(url)?.[1];
  const answer = (status, body) => response.writeHead(status).end(JSON.stringify(body));
  try {
    if (method === 'GET' && url === '/') {
      const id = jobIds === undefined ? randomUUID() : session;
      sessions.set(id, jobIds ?? new Set());
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.setHeader('set-cookie', `session=${id}; HttpOnly; SameSite=Strict`).end(html);
    } else if (method === 'POST' && url === '/imports' && jobIds !== undefined) {
      const items = Array.from({ length: 20 }, (_, row) => ({ payload: { row } }));
      const { id } = await jobtree.createJob({ type: 'import', items, sealed: true });
      jobIds.add(id);
      answer(201, { id });
    } else if (method === 'POST' && jobIds?.has(jobId)) {
      answer(200, await jobtree.createWatchToken(jobId, { sees: 'PROGRESS' }));
    } else {
      answer(404, { error: 'There is no such thing, or it is not yours.' });
    }
  } catch (error) {
    console.error(error);
    answer(502, { error: 'Try again later.' });
  }
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}/`),
);
