/** The rules of GraphQL for the schema and the client's operations. All else is for Biome. */
import graphql from '@graphql-eslint/eslint-plugin';

const { configs, parser } = graphql;
const schema = './schema.graphql';
const documents = './src/client/operations.graphql';
const named = '@graphql-eslint/naming-convention';
const [severity, names] = configs['flat/schema-recommended'].rules[named];

const rulesFor = (file, rules) => ({
  files: [file],
  languageOptions: { parser, parserOptions: { graphQLConfig: { schema, documents } } },
  plugins: { '@graphql-eslint': graphql },
  rules,
});

export default [
  rulesFor('schema.graphql', {
    ...configs['flat/schema-recommended'].rules,
    ...configs['flat/schema-relay'].rules,
    // What `node` reads by its id is a Node. Keys, uploads and entries of the audit have ids for other calls; all other types are parts.
    '@graphql-eslint/strict-id-in-types': 'off',
    // Lists with a bound, which a test demands, need no cursors.
    '@graphql-eslint/relay-edge-types': [
      'error',
      { withEdgeSuffix: true, shouldImplementNode: false, listTypeCanWrapOnlyEdgeType: false },
    ],
    // The type of a job is a word of the field, not the kind of the definition: TypeSchema, WorkerType.
    [named]: [severity, { ...names, 'ObjectTypeDefinition,ObjectTypeExtension': {} }],
  }),
  rulesFor('src/client/operations.graphql', {
    ...configs['flat/operations-recommended'].rules,
    // The client has no cache that needs ids, and what it does not use is left out of what every worker sends.
    '@graphql-eslint/require-selections': 'off',
  }),
];
