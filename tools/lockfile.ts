/** What the lockfile says about the packages that an installation consists of. */
/** An entry of the lockfile: a folder, and what is in it. */
export interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  /** Only development needs it. */
  readonly dev?: boolean;
  /** The only systems that it is for. */
  readonly os?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}

/** What must be there for a package to work, or is if it can be. */
function needs({
  dependencies,
  optionalDependencies,
  peerDependencies,
  peerDependenciesMeta,
}: Locked): string[] {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

/** The folders of all that the package of this repository needs, itself included (''), each with those of its own dependencies. */
export function reachedFrom({ packages }: Lock): Map<string, string[]> {
  /** As Node.js looks for it: in the folder of the package, and in those above. */
  const find = (path: string, name: string): string | undefined => {
    for (
      let folder = path;
      ;
      folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))
    ) {
      const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
      if (packages[candidate] !== undefined) return candidate;
      if (folder === '') return undefined;
    }
  };
  const reached = new Map<string, string[]>();
  const open = [''];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue;
    const found = needs(packages[path] as Locked).flatMap((name) => find(path, name) ?? []);
    reached.set(path, found);
    open.push(...found);
  }
  return reached;
}
