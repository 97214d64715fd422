/** The HTTP server: who is let in, and to whom each request goes. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Admission } from './admission.ts';
import type { Yoga } from './graphql.ts';
import type { Health } from './health.ts';
import type { JsonPost } from './json-post.ts';
import type { Lifetime } from './lifetime.ts';

export class Http {
  readonly server: Server;
  readonly #lifetime: Lifetime;
  #host = '';
  #closed: Promise<unknown> = Promise.resolve();

  constructor(options: {
    lifetime: Lifetime;
    health: Health;
    isAllowed: (request: IncomingMessage) => boolean;
    admission: Admission;
    jsonPost: JsonPost;
    yoga: Yoga;
  }) {
    const { lifetime, health, isAllowed, admission, jsonPost, yoga } = options;
    this.#lifetime = lifetime;
    this.server = createServer((request, response) => {
      // So that clients and load balancers come back over another connection, elsewhere.
      if (!lifetime.isReady) response.shouldKeepAlive = false;
      if (health.answers(request, response)) return;
      if (lifetime.isClosing) return refuse(response, 503, 'The server is shutting down.');
      if (!isAllowed(request)) return refuse(response, 403, 'Pages of this origin may not use the API.');
      if (!URL.canParse(`http://${request.headers.host}`))
        return refuse(response, 400, 'The Host header is no host.');
      if (!admission.admit(request, response)) return;
      if (!jsonPost(request, response)) void yoga(request, response);
    });
  }

  listen(port: number, host: string): Promise<void> {
    this.#host = host.includes(':') ? `[${host}]` : host;
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, resolve);
    });
  }

  /** `http://127.0.0.1:4000/graphql` */
  get url(): string {
    return `http://${this.#host}:${(this.server.address() as AddressInfo).port}/graphql`;
  }

  /** From now on there are no new connections; those that there are go on. */
  stopListening(): void {
    this.#closed = new Promise((resolve) => this.server.close(resolve));
  }

  /** Lets connections end whose answers are on their way, while there is time. */
  async end(): Promise<void> {
    this.server.closeIdleConnections();
    await Promise.race([this.#closed, this.#lifetime.timeIsUp]);
    this.server.closeAllConnections();
    await this.#closed;
  }
}

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${text}\n`);
}
