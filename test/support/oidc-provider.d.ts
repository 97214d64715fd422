/** The little that tests use of it. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

  export default class Provider {
    constructor(issuer: string, configuration: object);
    use(
      act: (
        context: { readonly path: string; readonly body: Record<string, unknown> },
        next: () => Promise<void>,
      ) => Promise<void>,
    ): void;
    callback(): RequestListener;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  }
}
