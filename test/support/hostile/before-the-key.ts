/** What a stranger can send to a server that asks for keys. Each attack says in its title what it does, and throws if the server takes it. */
import type { RawSocket } from '../raw-socket.ts';
import { openRaw } from '../raw-socket.ts';
import type { Attacker } from './attacker.ts';
import { type Attack, times } from './attacks.ts';

const megabytes = (count: number) => 'x'.repeat(count * 1_000_000);
/** The close codes of messages that are too big, of rights that are missing, of slow greetings, and of a cut connection. */
const closedCodes = [1009, 4403, 4408, 1006];

/** A socket that has not said hello. */
async function open(attacker: Attacker): Promise<RawSocket> {
  const raw = await openRaw(attacker.target.url, { hello: false });
  attacker.takesAlong({ destroy: () => raw.socket.terminate() });
  return raw;
}

async function expectClosed(raw: RawSocket, codes: readonly number[]): Promise<void> {
  const code = await raw.closed;
  if (!codes.includes(code)) throw new Error(`The socket was closed with ${code}.`);
  if (raw.messages.length > 0) throw new Error(`It answered: ${JSON.stringify(raw.messages).slice(0, 200)}`);
}

const ping = (text: string) => ({ type: 'ping', payload: { text } });

const firstMessages: [title: string, message: unknown][] = [
  ['a ping of 7 MB', ping(megabytes(7))],
  ['a ping of 100 kB', ping('x'.repeat(100_000))],
  ['an init of 7 MB', { type: 'connection_init', payload: { authorization: megabytes(7) } }],
  ['an operation of 7 MB', { type: 'subscribe', id: '1', payload: { query: megabytes(7) } }],
  ['7 MB of brackets', JSON.parse(`[${'[],'.repeat(2_000_000)}[]]`)],
];

const sockets: Attack[] = [
  ...firstMessages.map(([title, message]) => ({
    title: `${title} on a socket, before the init`,
    run: (attacker: Attacker) =>
      attacker.repeat(async () => {
        const raw = await open(attacker);
        raw.send(message);
        await expectClosed(raw, [1009, 1006]);
      }),
  })),
  {
    title: 'a ping of 7 MB where each operation shows its own token',
    run: async (attacker) => {
      const raw = await open(attacker);
      raw.send({ type: 'connection_init', payload: { authorization: 'per-operation' } });
      await raw.until(({ type }) => type === 'connection_ack');
      raw.messages.length = 0;
      raw.send(ping(megabytes(7)));
      await expectClosed(raw, [1009, 1006]);
    },
  },
  {
    title: '50 sockets with messages of 7 MB, frame by frame',
    run: async (attacker) => {
      const chunk = Buffer.alloc(100_000, 'x');
      await Promise.all(
        times(50, async () => {
          const raw = await open(attacker);
          for (let n = 0; n < 70; n++) raw.socket.send(chunk, { fin: false });
          await expectClosed(raw, closedCodes);
        }),
      );
    },
  },
  {
    title: '100 sockets that send pings of 15 kB and read nothing',
    run: async (attacker) => {
      const text = JSON.stringify(ping('x'.repeat(15_000)));
      for (let i = 0; i < 100; i++) {
        const raw = await open(attacker);
        raw.socket.pause();
        for (let n = 0; n < 50; n++) raw.socket.send(text);
      }
      await attacker.hold();
    },
  },
  {
    title: '600 sockets that say nothing',
    run: async (attacker) => {
      await Promise.all(times(600, () => open(attacker)));
      await attacker.hold();
    },
  },
  {
    title: '300 sockets with wrong keys',
    run: async (attacker) => {
      for (let i = 0; i < 300; i++) {
        const raw = await open(attacker);
        raw.send({
          type: 'connection_init',
          payload: { authorization: `Bearer jtk_${i}_${'x'.repeat(40)}` },
        });
      }
      await attacker.hold();
    },
  },
];

const paths = ['/graphql', '/api/uploads', '/api/jobs/x/results', '/api/nothing', '/metrics'];

const requests: Attack[] = [
  {
    title: '60 bodies of 8 MB, sent whatever is answered',
    run: async (attacker) => {
      const chunk = Buffer.alloc(1_000_000, 'x');
      for (const path of paths)
        await Promise.all(
          times(12, async () => {
            const head = attacker.head(8_000_000).replace('/graphql', path);
            const socket = await attacker.connect(head, { reads: true });
            for (let n = 0; n < 8; n++) socket.write(chunk);
          }),
        );
      await attacker.hold();
    },
  },
  {
    title: 'bodies of endless chunks, and of one byte at a time',
    run: async (attacker) => {
      const chunks = '1\r\n \r\n'.repeat(100_000);
      for (const path of paths)
        await attacker.repeat(() =>
          attacker.connect(attacker.head('chunked').replace('/graphql', path) + chunks, { reads: true }),
        );
      await attacker.hold();
    },
  },
  {
    title: '500 event streams',
    run: async (attacker) => {
      const body = '{"query":"subscription { jobs(first: 1000) { jobs { id } } }"}';
      for (let round = 0; round < 5; round++)
        await Promise.all(
          times(100, async () => {
            const text = await attacker.say(
              attacker.head(body.length, { Accept: 'text/event-stream' }) + body,
            );
            if (text !== '' && !text.includes(' 401 ')) throw new Error(text.slice(0, 200));
          }),
        );
    },
  },
  {
    title: 'uploads: whole, in parts, and as forms',
    run: async (attacker) => {
      const upload = { 'Tus-Resumable': '1.0.0', 'Content-Type': 'application/offset+octet-stream' };
      for (const [method, path, headers] of [
        ['POST', '/api/uploads', {}],
        ['POST', '/api/uploads', { ...upload, 'Upload-Length': '1000000000' }],
        ['PATCH', '/api/uploads/00000000-0000-7000-8000-000000000000', { ...upload, 'Upload-Offset': '0' }],
        ['POST', '/graphql', { 'Content-Type': 'multipart/form-data; boundary=x', 'GraphQL-Preflight': '1' }],
      ] as const) {
        await Promise.all(
          times(10, async () => {
            const { status } = await attacker.post(megabytes(8), { method, path, headers });
            if (![0, 401, 415].includes(status)) throw new Error(`${method} ${path}: ${status}`);
          }),
        );
      }
    },
  },
  {
    title: '2,000 requests with wrong keys, and 2,000 for what is open to all',
    run: async (attacker) => {
      const head = (method: string, path: string) => `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n`;
      const wrong = times(2_000, (i) => `${head('GET', '/graphql')}Authorization: Bearer jtk_${i}\r\n\r\n`);
      const open = times(
        2_000,
        (i) => `${head(i % 2 ? 'GET' : 'OPTIONS', i % 4 > 1 ? '/healthz' : '/readyz')}\r\n`,
      );
      for (const texts of [wrong, open])
        await attacker.repeat(() => attacker.connect(texts.join(''), { reads: true }));
      await attacker.hold();
    },
  },
  {
    title: '200 requests for GraphiQL in one write, whose answers nobody reads',
    run: async (attacker) => {
      const get = 'GET /graphql HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n';
      await attacker.repeat(() => attacker.connect(get.repeat(200)));
      await attacker.hold();
    },
  },
  {
    title: '900 heads that never end, of 15 kB each',
    run: async (attacker) => {
      const head = `POST /graphql HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(15_000)}`;
      await Promise.all(times(900, () => attacker.connect(head)));
      await attacker.hold();
    },
  },
];

export const beforeTheKey: readonly Attack[] = [...sockets, ...requests];
