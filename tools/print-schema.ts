/** Prints the schema to a file: `tsx tools/print-schema.ts [schema.graphql]`. */
import { writeFileSync } from 'node:fs';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from '../src/schema/index.ts';

writeFileSync(process.argv[2] ?? 'schema.graphql', `${printSchema(lexicographicSortSchema(schema))}\n`);
