import type { Page } from './types.ts';

interface Connection<Node> {
  readonly edges: readonly { readonly node: Node }[];
  readonly pageInfo: { readonly endCursor?: string | null; readonly hasNextPage: boolean };
}

export function toPage<Node>({ edges, pageInfo }: Connection<Node>): Page<Node> {
  const { endCursor = null, hasNextPage } = pageInfo;
  return { nodes: edges.map(({ node }) => node), endCursor, hasNextPage };
}
