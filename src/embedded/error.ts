/** Something the operator can act on: its message is complete, a stack trace adds nothing. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}
