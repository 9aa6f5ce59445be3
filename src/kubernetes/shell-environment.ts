import type { Command } from '../host/seam/host.ts';

/** The environment of the hooks' script, for a program that runs as a part of it (`host.hooks.singleScript`). */
export interface ShellEnvironment {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Octal digits. */
  readonly umask: string;
}

/** The command in this environment: a shell starts it, which sets the umask and searches the PATH of the script. */
export function inShellEnvironment(
  program: string,
  args: readonly string[],
  shellEnvironment: ShellEnvironment | undefined,
): Pick<Command, 'program' | 'args' | 'env' | 'cwd'> {
  if (shellEnvironment === undefined) return { program, args };
  const { env, cwd, umask } = shellEnvironment;
  return { program: 'sh', args: ['-c', `umask ${umask}; exec "$0" "$@"`, program, ...args], env, cwd };
}
