import type { Post } from './post.ts';

/** What becomes of each JSON text that a client gets or sends: so whoever knows how keeps the digits of numbers that JavaScript would round. */
export interface Texts {
  readonly received: (json: string) => string;
  readonly sent: (json: string) => string;
  /** Makes a class of `ws` one that does so. */
  readonly over: (Base: unknown) => unknown;
}

/** The option for it. It is not for everybody: payloads may have something else in place of such numbers. */
export const texts = /* @__PURE__ */ Symbol('texts');

export const withTexts =
  (post: Post, received: Texts['received'], sent: Texts['sent']): Post =>
  async (url, request) => {
    const answer = await post(url, { ...request, body: sent(request.body) });
    return { ...answer, text: received(answer.text) };
  };
