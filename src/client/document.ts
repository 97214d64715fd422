/** An operation as a text that knows the types of its answer and its variables: codegen.ts makes them. */
export interface Document<R, V> {
  toString(): string;
  readonly __apiType?: (variables: V) => R;
}
