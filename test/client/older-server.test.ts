/** What a client asks of a server that does not know it yet, as that of an older release. */
import { expect, it, onTestFinished } from 'vitest';
import { Credentials } from '../../src/client/credentials.ts';
import { Socket } from '../../src/client/socket.ts';
import { watch } from '../../src/client/watch.ts';
import { TypedDocumentString } from '../../src/generated/operations.ts';
import { useServer } from '../support/use-server.ts';

const server = useServer();
const document = new TypedDocumentString('subscription { jobProgress(jobId: "Job:1") { newlyMade } }');
const refusal = {
  code: 'BAD_RESPONSE',
  message: 'Cannot query field "newlyMade" on type "JobProgress".',
};

function start(onLost?: (error: unknown) => void) {
  const socket = new Socket({
    headers: {},
    url: server.url,
    credentials: new Credentials({}, undefined),
    webSocketImpl: undefined,
  });
  const stopping = new AbortController();
  onTestFinished(() => {
    stopping.abort();
    return socket.close();
  });
  const watched = { take: () => true, isFinal: () => false, ...(onLost && { onLost }) };
  return watch(socket, document, () => ({}), watched, stopping.signal);
}

it('a watch says what the server does not know', async () => {
  await expect(start().next()).rejects.toMatchObject(refusal);
});

it('a watch whose problems are handled continues, since the server may be replaced', async () => {
  const problems: unknown[] = [];
  const twice = new Promise<void>((resolve) => {
    const watching = start((error) => {
      if (problems.push(error) === 2) resolve();
    });
    // It ends when the test does.
    watching.next().catch(() => {});
  });
  await twice;
  expect(problems).toMatchObject([refusal, refusal]);
});
