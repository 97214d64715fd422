/** Makes every query and mutation nullable, so that a fault in one does not remove the answers of the others in an operation. */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      nullableRoots: NullableRootsPlugin<Types>;
    }
  }
}

export const nullableRootsPlugin = 'nullableRoots' as const;

class NullableRootsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (config.kind !== 'Query' && config.kind !== 'Mutation') return config;
    return { ...config, type: { ...config.type, nullable: true } };
  }
}

SchemaBuilder.registerPlugin(nullableRootsPlugin, NullableRootsPlugin);
