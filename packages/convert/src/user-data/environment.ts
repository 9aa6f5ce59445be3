import { Verbatim } from '@machineadm/document/verbatim.ts';
import type { Expressions } from '../jinja.ts';
import type { Report } from '../report.ts';
import type { CommandSpec } from '../spec.ts';
import type { EnvironmentFile } from './container-linux.ts';

/**
 * Flatcar's access to instance data: kubeadm's unit reads a file of KEY=value lines, and commands insert the values
 * into kubeadm's configuration with envsubst(1). If they do nothing else, the names become variables.
 */
export interface Substitution {
  /** The commands without those that substitute. */
  readonly commands: readonly CommandSpec[];
  /** The environment file; undefined where nothing is substituted this way. */
  readonly file: string | undefined;
}

const SUBSTITUTES = /^\s*envsubst\s*<\s*\/etc\/kubeadm\.yml\s*>\s*(\/\S+)\s*$/;

export function findSubstitution(
  commands: readonly CommandSpec[],
  environmentFiles: readonly EnvironmentFile[],
  report: Report,
): Substitution {
  const file = environmentFiles[0]?.path;
  const begins = commands.findIndex(({ command }) => SUBSTITUTES.test(command));
  const temporary = SUBSTITUTES.exec(commands[begins]?.command ?? '')?.[1];
  const move = commands[begins + 1];
  const moves =
    move !== undefined &&
    new RegExp(`^\\s*mv\\s+(?:-f\\s+)?${temporary}\\s+/etc/kubeadm\\.yml\\s*$`).test(move.command);
  // A variable that a command changes first does not have the file's value.
  const changed = commands
    .slice(0, Math.max(begins, 0))
    .some(({ command }) => /^\s*(?:export\s+)?[A-Z_][A-Z0-9_]*=/m.test(command));
  const isSubstituted = file !== undefined && begins !== -1 && moves && !changed;
  for (const { path, at } of environmentFiles) {
    if (isSubstituted && path === file) continue;
    const remedy = `commands do not see the variables of ${path}: read it in them (set -a; . ${path}), or in kubeadm's file`;
    report.add('ContainerLinuxConfigDropped', at, remedy);
  }
  if (!isSubstituted) return { commands, file: undefined };
  report.add('Structured', move.at, `envsubst on kubeadm's configuration: variables from ${file}`);
  return { commands: commands.filter((_command, index) => index !== begins && index !== begins + 1), file };
}

/** `${NAME}` and `$NAME` in every string, as a variable of the environment file. */
export function markEnvironment(value: unknown, file: string, expressions: Expressions): unknown {
  if (typeof value === 'string') {
    return value.replace(/\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)/g, (_whole, braced?: string, bare?: string) =>
      expressions.mark(`envFile:${file}:${braced ?? bare ?? ''}`),
    );
  }
  if (Array.isArray(value)) return value.map((item) => markEnvironment(item, file, expressions));
  if (typeof value !== 'object' || value === null || value instanceof Verbatim) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, markEnvironment(item, file, expressions)]),
  );
}
