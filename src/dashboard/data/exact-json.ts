/**
 * Numbers that JavaScript would round are strings with a mark while they are in the page: what is shown, compared and written back has all their digits.
 */
import type { Post } from '../../client/post.ts';
import { withTexts } from '../../client/texts.ts';
import { mark, unmark } from '../../domain/values/exact-numbers.ts';

export const exactly = (post: Post): Post => withTexts(post, mark, unmark);

export class ExactWebSocket extends WebSocket {
  override set onmessage(take: ((message: { data: string }) => void) | null) {
    super.onmessage = take && (({ data }) => take({ data: mark(data) }));
  }
}
