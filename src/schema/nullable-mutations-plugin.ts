/** Every mutation can be null, so that the fault of one does not take the answers of the others of an operation with it. */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      nullableMutations: NullableMutationsPlugin<Types>;
    }
  }
}

export const nullableMutationsPlugin = 'nullableMutations' as const;

class NullableMutationsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (config.kind !== 'Mutation') return config;
    return { ...config, type: { ...config.type, nullable: true } };
  }
}

SchemaBuilder.registerPlugin(nullableMutationsPlugin, NullableMutationsPlugin);
