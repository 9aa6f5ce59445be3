import type { Command } from '../host/seam/host.ts';

/** What a program runs with that is a part of the script of the hooks around it (`host.hooks.singleScript`). */
export interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Octal digits. */
  readonly umask: string;
}

/** The program in these surroundings: started by a shell, which sets the umask and searches the PATH of the script. */
export function inSurroundings(
  program: string,
  args: readonly string[],
  surroundings: Surroundings | undefined,
): Pick<Command, 'program' | 'args' | 'env' | 'cwd'> {
  if (surroundings === undefined) return { program, args };
  const { env, cwd, umask } = surroundings;
  return { program: 'sh', args: ['-c', `umask ${umask}; exec "$0" "$@"`, program, ...args], env, cwd };
}
