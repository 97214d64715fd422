export type {
  BatchHandler,
  BatchItem,
  BatchResults,
  Handler,
  HandlerContext,
  Logger,
} from '../define-type.ts';
