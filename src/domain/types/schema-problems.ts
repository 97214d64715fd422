/** What is wrong with a value that does not match the schema of its type, in words for whoever sent it. */
import type { ErrorObject } from 'ajv/dist/2020.js';

/** What is wrong with a value: where, and in words. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

const maxPathLength = 200;
const maxMessageLength = 200;

export function toProblem(error: ErrorObject | undefined, field: string, schema: unknown): Problem {
  if (error === undefined) return { path: field, message: 'does not match' };
  const steps = error.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const { params, keyword, message = 'does not match' } = error;
  if (keyword === 'required') return problem(field, [...steps, params.missingProperty], 'is missing');
  if (keyword === 'additionalProperties')
    return problem(field, [...steps, params.additionalProperty], 'is not a property that the schema has');
  if (keyword === 'enum')
    return problem(
      field,
      steps,
      `must be one of ${(params.allowedValues as unknown[]).map((one) => JSON.stringify(one)).join(', ')}`,
    );
  if (keyword === 'const') return problem(field, steps, `must be ${JSON.stringify(params.allowedValue)}`);
  if (keyword === 'uniqueItems') return problem(field, steps, 'must not have the same element twice');
  const format = keyword === 'pattern' ? formatBeside(error.schemaPath, schema) : undefined;
  return problem(
    field,
    steps,
    format === undefined ? message : `is not in the format ${format}: it ${message}`,
  );
}

/** What the author of a schema calls a pattern, which few people read: the `format` next to it. */
function formatBeside(schemaPath: string, schema: unknown): string | undefined {
  const steps = schemaPath.split('/').slice(1, -1);
  const place = steps
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], schema);
  const format = (place as { format?: unknown } | undefined)?.format;
  return typeof format === 'string' ? format : undefined;
}

function problem(field: string, steps: readonly string[], message: string): Problem {
  const path = steps.map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`)).join('');
  return { path: field + cut(path, maxPathLength), message: cut(message, maxMessageLength) };
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
