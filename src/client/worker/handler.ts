export type { Handler, HandlerContext } from '../define-type.ts';
