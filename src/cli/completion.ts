/** Scripts that complete what is typed in a shell, made from the tree of commands. They start nothing while somebody types. */
import type { Command, Option } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export function completionScript(program: Command, shell: Shell): string {
  return scripts[shell](placesOf(program));
}

/** Somewhere on a command line, behind the names of a command. */
interface Place {
  /** `schedule put`; empty at the start. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly OptionWord[];
  /** What its arguments are. */
  readonly args: Values;
}

interface Word {
  readonly name: string;
  readonly description: string;
}

interface OptionWord extends Word {
  /** Undefined for an option without a value. */
  readonly values: Values | undefined;
}

/** A choice of words, names of files, a command (behind `--`), or anything else. */
type Values = readonly string[] | 'files' | 'command' | 'other';

function placesOf(command: Command, path = ''): Place[] {
  const place: Place = {
    path,
    commands: command.commands.map((one) => ({ name: one.name(), description: one.description() })),
    options: [
      ...command.options.map(toWord),
      { name: '--help', description: 'show this help', values: undefined },
    ],
    args: argumentsOf(command),
  };
  return [
    place,
    ...command.commands.flatMap((one) => placesOf(one, path === '' ? one.name() : `${path} ${one.name()}`)),
  ];
}

function toWord({ long, flags, description, argChoices, required, optional }: Option): OptionWord {
  const isFile = /<file>/.test(flags);
  const values = required || optional ? (argChoices ?? (isFile ? 'files' : 'other')) : undefined;
  return { name: long ?? '', description, values };
}

function argumentsOf({ registeredArguments: all }: Command): Values {
  if (all.some((one) => one.name() === 'file')) return 'files';
  if (all.some((one) => one.name() === 'command')) return 'command';
  return all[0]?.argChoices ?? 'other';
}

/** Of all commands, as a shell compares them: what was typed before, a blank, and the word. */
const steps = (places: readonly Place[]) =>
  places.flatMap(({ path, commands }) => commands.map(({ name }) => `${path} ${name}`));

const withValues = (places: readonly Place[]) =>
  places.flatMap(({ path, options }) =>
    options.flatMap(({ name, values }) => (values === undefined ? [] : [{ key: `${path} ${name}`, values }])),
  );

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const quoteFish = (text: string) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;

function bash(places: readonly Place[]): string {
  const reply = (values: Values) => {
    if (values === 'files') return '_jobtree_files; return';
    if (values === 'command') return 'COMPREPLY=($(compgen -c -- "$word")); return';
    return values === 'other'
      ? 'return'
      : `COMPREPLY=($(compgen -W ${quote(values.join(' '))} -- "$word")); return`;
  };
  return `# Completion of jobtree for bash.
_jobtree_files() {
  compopt -o filenames 2> /dev/null
  local IFS=$'\\n'
  COMPREPLY=($(compgen -f -- "$word"))
}

_jobtree() {
  local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} place='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [ "\${COMP_WORDS[i]}" = -- ]; then
      if [ "$previous" = -- ]; then COMPREPLY=($(compgen -c -- "$word")); else _jobtree_files; fi
      return
    fi
    case "$place \${COMP_WORDS[i]}" in
      ${steps(places).map(quote).join(' | ')})
        place=\${place:+$place }\${COMP_WORDS[i]} ;;
    esac
  done
  case "$place $previous" in
${withValues(places)
  .map(({ key, values }) => `    ${quote(key)}) ${reply(values)} ;;`)
  .join('\n')}
  esac
  case "$word" in
    -*)
      case "$place" in
${places
  .map(
    ({ path, options }) =>
      `        ${quote(path)}) COMPREPLY=($(compgen -W ${quote(options.map(({ name }) => name).join(' '))} -- "$word")) ;;`,
  )
  .join('\n')}
      esac
      return ;;
  esac
  case "$place" in
${places
  .filter(({ commands, args }) => commands.length > 0 || args === 'files' || Array.isArray(args))
  .map(
    ({ path, commands, args }) =>
      `    ${quote(path)}) ${reply(commands.length > 0 ? commands.map(({ name }) => name) : args)} ;;`,
  )
  .join('\n')}
  esac
}
complete -F _jobtree jobtree
`;
}

function zsh(places: readonly Place[]): string {
  const described = (words: readonly Word[]) =>
    words.map(({ name, description }) => quote(`${name}:${description}`)).join(' ');
  const reply = (values: Values) => {
    if (values === 'files') return '_files; return';
    return typeof values === 'string' ? 'return' : `compadd -- ${values.map(quote).join(' ')}; return`;
  };
  return `#compdef jobtree
# Completion of jobtree for zsh.
_jobtree() {
  local place='' i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    if [[ $words[i] == -- ]]; then
      if ((i == CURRENT - 1)); then _command_names -e; else _files; fi
      return
    fi
    case "$place $words[i]" in
      ${steps(places).map(quote).join(' | ')})
        place="\${place:+$place }$words[i]" ;;
    esac
  done
  case "$place $words[CURRENT-1]" in
${withValues(places)
  .map(({ key, values }) => `    ${quote(key)}) ${reply(values)} ;;`)
  .join('\n')}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    case "$place" in
${places.map(({ path, options }) => `      ${quote(path)}) found=(${described(options)}) ;;`).join('\n')}
    esac
    _describe -o option found
    return
  fi
  case "$place" in
${places
  .filter(({ commands }) => commands.length > 0)
  .map(({ path, commands }) => `    ${quote(path)}) found=(${described(commands)}) ;;`)
  .join('\n')}
${places
  .filter(({ commands, args }) => commands.length === 0 && (args === 'files' || Array.isArray(args)))
  .map(({ path, args }) => `    ${quote(path)}) ${reply(args)} ;;`)
  .join('\n')}
  esac
  ((\${#found})) && _describe command found
}
if [[ $funcstack[1] == _jobtree ]]; then _jobtree "$@"; else compdef _jobtree jobtree; fi
`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options, args }) => {
    const at = `complete -c jobtree -n ${quoteFish(`__jobtree_at ${path}`.trim())}`;
    const about = ({ description }: Word) => `-d ${quoteFish(description)}`;
    return [
      ...commands.map((word) => `${at} -a ${word.name} ${about(word)}`),
      ...options.map((word) => `${at} -l ${word.name.slice(2)}${fishValues(word.values)} ${about(word)}`),
      ...(args === 'files' ? [`${at} -F`] : []),
      ...(Array.isArray(args) ? [`${at} -a ${quoteFish(args.join(' '))}`] : []),
    ];
  });
  return `# Completion of jobtree for fish.
function __jobtree_at
    set -l place
    set -l words (commandline -opc)
    for word in $words[2..]
        if test "$word" = --
            return 1
        end
        switch "$place $word"
            case ${steps(places).map(quoteFish).join(' ')}
                set place (string trim "$place $word")
        end
    end
    test "$place" = "$argv"
end
function __jobtree_behind
    contains -- -- (commandline -opc)
end
complete -c jobtree -f
complete -c jobtree -n __jobtree_behind -F -a '(__fish_complete_command)'
${lines.join('\n')}
`;
}

function fishValues(values: Values | undefined): string {
  if (values === undefined) return '';
  if (values === 'files') return ' -r -F';
  return typeof values === 'string' ? ' -x' : ` -x -a ${quoteFish(values.join(' '))}`;
}

const scripts: Record<Shell, (places: readonly Place[]) => string> = { bash, zsh, fish };
