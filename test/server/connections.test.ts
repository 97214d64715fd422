import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Connections } from '../../src/server/http/connections.ts';
import { closed } from '../support/closed.ts';

it('of two connections with the same address, such as after a reset, each is watched', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobtree-'));
  const answers: ServerResponse[] = [];
  const server = createServer((request, response) => {
    connections.begin(request, response);
    answers.push(response);
  });
  const connections = new Connections(server);
  onTestFinished(async () => {
    stop();
    connections.endAll();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });
  // Connections to such a socket have no address at all.
  const path = join(folder, 'socket');
  await once(server.listen(path), 'listening');
  const half = connect(path);
  half.write('POST / HTTP/1.1\r\n');
  await once(server, 'connection');
  const whole = connect(path).setEncoding('latin1');
  whole.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(server, 'request');
  const stop = connections.endStalled();
  await closed(half);
  answers[0]?.end('late');
  const [text] = await once(whole, 'data');
  expect(text).toContain('late');
});
