/**
 * Numbers that JavaScript would round are strings with a mark while they are in the page: what is shown, compared and written back has all their digits.
 */
import type { Post } from '../../client/post.ts';
import { markRounded } from '../../domain/values/exact-numbers.ts';

/** Nobody else knows it, so no other string begins with it. */
const secret = `${Math.random()} `;
const marked = new RegExp(`"${secret}([^"]+)"`, 'g');

export const mark = (json: string) => markRounded(json, secret);
export const unmark = (json: string) => json.replace(marked, '$1');

export const exactly =
  (post: Post): Post =>
  async (url, request) => {
    const answer = await post(url, { ...request, body: unmark(request.body) });
    return { ...answer, text: mark(answer.text) };
  };

export class ExactWebSocket extends WebSocket {
  override set onmessage(take: ((message: { data: string }) => void) | null) {
    super.onmessage = take && (({ data }) => take({ data: mark(data) }));
  }
}
