import { exitCode } from '@machineadm/document/exit-codes.ts';
import type { Command, Option } from 'commander';
import { printText } from './output.ts';

/** What can follow the words of a command: taken from what the command line itself declares. */
interface Node {
  /** `config show`; empty for the program. */
  readonly path: string;
  readonly description: string;
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly Option[];
  readonly choices: readonly string[];
}

/** `machineadm completion`: a script that the shell reads once; it does not call machineadm again. */
export async function completion(shell: 'bash' | 'zsh' | 'fish', program: Command): Promise<number> {
  const nodes = walk(program, []);
  const script = { bash, zsh, fish }[shell](nodes);
  printText(script);
  return exitCode('Success');
}

function walk(command: Command, path: readonly string[]): Node[] {
  const children = command.commands;
  const node: Node = {
    path: path.join(' '),
    description: command.description(),
    subcommands: children.map((child) => ({ name: child.name(), description: child.description() })),
    options: command.options.filter((option) => !option.hidden),
    choices: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
  };
  return [node, ...children.flatMap((child) => walk(child, [...path, child.name()]))];
}

function names(option: Option): string[] {
  return [option.short, option.long].filter((name) => name !== undefined && name !== null);
}

function words(node: Node): string {
  const options = [...node.options.flatMap(names), '--help'];
  return [...node.subcommands.map(({ name }) => name), ...node.choices, ...options].join(' ');
}

function bash(nodes: readonly Node[]): string {
  const paths = nodes.filter((node) => node.path !== '').map((node) => `"${node.path}"`);
  const values = valueCases(nodes).map(
    ([flags, values]) => `    ${flags}) COMPREPLY=($(compgen -W "${values}" -- "$current")); return ;;`,
  );
  const cases = nodes.map((node) => `    "${node.path}") COMPREPLY=($(compgen -W "${words(node)}" -- "$current")) ;;`);
  return `# bash completion for machineadm
_machineadm() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" word
  case "$previous" in
    -d|--document) COMPREPLY=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null; return ;;
${values.join('\n')}
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
      ${paths.join('|')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
}
complete -F _machineadm machineadm
`;
}

/** Options with a closed list of values, joined for a shell's case. */
function valueCases(nodes: readonly Node[]): [string, string][] {
  const cases = new Map<string, string>();
  for (const option of nodes.flatMap((node) => node.options)) {
    if (option.argChoices !== undefined) cases.set(names(option).join('|'), option.argChoices.join(' '));
  }
  return [...cases];
}

function zsh(nodes: readonly Node[]): string {
  return `#compdef machineadm
# zsh completion for machineadm, by way of its bash completion
autoload -U +X bashcompinit && bashcompinit
${bash(nodes)}`;
}

function fish(nodes: readonly Node[]): string {
  const lines = ['# fish completion for machineadm', 'complete -c machineadm -f'];
  for (const node of nodes) {
    const inner = node.path.split(' ').filter((word) => word !== '');
    const here =
      inner.length === 0
        ? '__fish_use_subcommand'
        : inner.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
    const others = node.subcommands.map(({ name }) => name).join(' ');
    const condition =
      others === '' || inner.length === 0 ? here : `${here}; and not __fish_seen_subcommand_from ${others}`;
    for (const { name, description } of node.subcommands) {
      lines.push(`complete -c machineadm -n '${condition}' -a ${name} -d ${quoted(description)}`);
    }
    for (const choice of node.choices) lines.push(`complete -c machineadm -n '${condition}' -a ${choice}`);
    for (const option of node.options) {
      const short = option.short === undefined ? '' : ` -s ${option.short.slice(1)}`;
      const long = option.long === undefined || option.long === null ? '' : ` -l ${option.long.slice(2)}`;
      const value =
        option.argChoices !== undefined ? ` -x -a '${option.argChoices.join(' ')}'` : option.required ? ' -r -F' : '';
      lines.push(`complete -c machineadm -n '${condition}'${short}${long}${value} -d ${quoted(option.description)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
