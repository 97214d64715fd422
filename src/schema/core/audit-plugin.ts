/**
 * Notes in the audit what fields with `audited` did, and what they refused. It comes before all other plugins, so that it sees
 * their refusals; the resolver below it gets a database that writes the entry together with the change.
 */
import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type InputShapeFromFields,
  type PothosOutputFieldConfig,
  type SchemaTypes as PothosTypes,
  type TypeParam,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import type { Act } from '../../domain/access/audit.ts';
import { type ErrorCode, JobtreeError } from '../../errors.ts';
import type { Services } from './services.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends PothosTypes> {
      audit: AuditPlugin<Types>;
    }
    export interface MutationFieldOptions<
      Types extends PothosTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      /** The subjects for the audit, as ids and names; no payloads, no secrets. Undefined for what is not to be recorded. */
      audited?: (args: InputShapeFromFields<Args>) => readonly string[] | undefined;
      /** Whether the resolver records its parts itself (`actOf`), so that only a refusal of the whole is recorded for it. */
      auditsParts?: boolean;
    }
  }
}

export const auditPlugin = 'audit' as const;

class AuditPlugin<Types extends PothosTypes> extends BasePlugin<Types> {
  override wrapResolve(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { name, pothosOptions }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const { audited, auditsParts = false } = pothosOptions as {
      audited?: (args: object) => readonly string[] | undefined;
      auditsParts?: boolean;
    };
    if (audited === undefined) return resolver;
    return (parent, args, context, info) => {
      const subjects = audited(args);
      if (subjects === undefined) return resolver(parent, args, context, info);
      const { audit, engine } = context as Services;
      return audit.run(
        engine.database,
        actOf(context as Services, name, subjects),
        (database) =>
          resolver(
            parent,
            args,
            auditsParts ? context : { ...context, engine: { ...engine, database } },
            info,
          ),
        refusalOf,
        auditsParts,
      );
    };
  }
}

export function actOf({ caller, peer }: Services, action: string, subjects: readonly string[]): Act {
  return { actor: caller.name, tenant: caller.tenant, action, subjects, address: peer() };
}

/** The errors plugin wraps refusals including their prototypes, so only the constructor identifies them. */
function refusalOf(result: unknown): ErrorCode | undefined {
  const made = (result as object | null)?.constructor;
  return made?.prototype instanceof JobtreeError ? (result as JobtreeError).code : undefined;
}

SchemaBuilder.registerPlugin(auditPlugin, AuditPlugin);
