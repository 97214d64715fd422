import { GraphQLError } from 'graphql';

/** The refusal of an operation that requests too much. `found` says how much: "There are 500 aliases". */
export function limitExceeded(
  limit:
    | 'tokens'
    | 'keys'
    | 'length'
    | 'names'
    | 'numbers'
    | 'depth'
    | 'fields'
    | 'aliases'
    | 'repeats'
    | 'cost'
    | 'bytes'
    | 'entries'
    | 'parts',
  found: string,
  maximum: number,
): GraphQLError {
  return new GraphQLError(`${found}; the limit is ${maximum.toLocaleString('en')} for one operation.`, {
    extensions: { code: 'LIMIT_EXCEEDED', limit, maximum },
  });
}
