/** How events reach this server. */
export interface Feed {
  /** Resolves once messages arrive, from wherever. */
  start(): Promise<void>;
  /** Resolves once messages of this tree arrive here. Never rejects. */
  join(rootId: string): Promise<void>;
  leave(rootId: string): void;
  readonly route: 'notify' | 'redis';
  close(): Promise<void>;
}
