/** TypeScript for the payloads and results of types: of each version, and of all together, which is what a handler may meet. */
import { compile } from 'json-schema-to-typescript';
import type { TypeSchema } from '../client/index.ts';

type Part = 'payload' | 'result';

/** @param types the versions of each type */
export async function toTypeScript(types: readonly (readonly TypeSchema[])[]): Promise<string> {
  const names = new Names();
  const blocks: string[] = ['// Written by `jobtree types`: change the schemas, not this file.'];
  const entries: string[] = [];
  for (const versions of types) {
    const type = versions[0]?.type ?? '';
    const name = names.of(type);
    const parts: string[] = [];
    for (const part of ['payload', 'result'] as const) {
      const { text, all } = await toUnion(name, part, versions);
      blocks.push(...text);
      parts.push(`${part}: ${all}`);
    }
    entries.push(`  ${/^[A-Za-z_]\w*$/.test(type) ? type : JSON.stringify(type)}: { ${parts.join('; ')} };`);
  }
  blocks.push(
    `/** Payload and result of each type, in any version. */\nexport interface Types {\n${entries.map((entry) => `${entry}\n`).join('')}}`,
  );
  return `${blocks.join('\n\n')}\n`;
}

/** Versions without a schema of the part do not count: the others decide what is taken. */
async function toUnion(name: string, part: Part, versions: readonly TypeSchema[]) {
  const text: string[] = [];
  const members: string[] = [];
  const title = name + (part === 'payload' ? 'Payload' : 'Result');
  for (const { version, [part]: schema } of versions) {
    if (schema === null) continue;
    const member = `${title}V${version}`;
    text.push(await toDeclaration(schema, member));
    members.push(member);
  }
  if (members.length === 0) return { text, all: 'unknown' };
  text.push(`export type ${title} = ${members.join(' | ')};`);
  return { text, all: title };
}

async function toDeclaration(schema: unknown, name: string): Promise<string> {
  if (typeof schema === 'boolean') return `export type ${name} = ${schema ? 'unknown' : 'never'};`;
  const text = await compile(writtenOut(schema, schema) as object, name, {
    bannerComment: '',
    // Not a word of the schema says that there is more, so handlers need not expect it.
    additionalProperties: false,
    // Prettier is left out of the package.
    format: false,
    unknownAny: true,
    $refOptions: { resolve: { external: false } },
  });
  const declaration = indented(text.trim());
  return /[;}]$/.test(declaration) ? declaration : `${declaration};`;
}

const quoted = /"(?:[^"\\]|\\.)*"/g;

/** Two spaces for each bracket around a line; and the quotes of this repository, where nothing in them has to be escaped. */
function indented(text: string): string {
  let depth = 0;
  let inComment = false;
  const lines = text.split('\n').map((line) => {
    const code = line.trim();
    if (inComment || code.startsWith('/*')) {
      const indent = '  '.repeat(depth) + (inComment ? ' ' : '');
      inComment = !code.includes('*/');
      return indent + code;
    }
    const bare = code.replaceAll(quoted, '');
    const change = (bare.match(/[({[]/g) ?? []).length - (bare.match(/[)}\]]/g) ?? []).length;
    const leading = /^[)}\]]*/.exec(bare)?.[0].length ?? 0;
    const indent = '  '.repeat(Math.max(0, depth - leading));
    depth += change;
    return indent + code.replaceAll(quoted, (text) => (/['\\]/.test(text) ? text : `'${text.slice(1, -1)}'`));
  });
  return lines.join('\n');
}

const mapsOfSchemas = new Set(['properties', 'patternProperties', 'dependentSchemas']);
const values = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired']);

/** With definitions in the place of references, and without names of their own: one schema becomes one declaration. */
function writtenOut(schema: unknown, root: unknown): unknown {
  if (Array.isArray(schema)) return schema.map((one) => writtenOut(one, root));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, title, $id, $schema, $defs, definitions, ...rest } = schema as Record<string, unknown>;
  const map = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => {
      if (values.has(key)) return [key, value];
      if (!mapsOfSchemas.has(key)) return [key, writtenOut(value, root)];
      const members = Object.entries(value as object).map(([name, one]) => [name, writtenOut(one, root)]);
      return [key, Object.fromEntries(members)];
    }),
  );
  if (typeof $ref !== 'string') return map;
  const [, place = '', name = ''] = $ref.split('/');
  const target = writtenOut((root as Record<string, Record<string, unknown>>)[place]?.[name], root);
  return Object.keys(map).length === 0 ? target : { allOf: [target, map] };
}

/** Of types, as TypeScript can call them, each once. */
class Names {
  readonly #taken = new Set<string>();

  of(type: string): string {
    const words = type.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
    const plain = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
    const name = /^\p{L}/u.test(plain) ? plain : `Type${plain}`;
    for (let n = 1; ; n++) {
      const candidate = n === 1 ? name : `${name}_${n}`;
      if (this.#taken.has(candidate)) continue;
      this.#taken.add(candidate);
      return candidate;
    }
  }
}
