import { writeFileSync } from 'node:fs';

/**
 * Variables that make Node or OpenSSL trust others, print what they send, load code, or write files of their own:
 * NODE_DEBUG prints request headers, NODE_V8_COVERAGE writes into any directory (nodejs/node doc/api/cli.md,
 * "Environment variables"). By name, because a document may read NODE_ROLE. NODE_OPTIONS is not among them: the binary
 * ignores it (scripts/build/bundle.ts).
 */
const DISTRUSTED: ReadonlySet<string> = new Set([
  'NODE_CHANNEL_FD',
  'NODE_CHANNEL_SERIALIZATION_MODE',
  'NODE_COMPILE_CACHE',
  'NODE_COMPILE_CACHE_PORTABLE',
  'NODE_DEBUG',
  'NODE_DEBUG_NATIVE',
  'NODE_EXTRA_CA_CERTS',
  'NODE_ICU_DATA',
  'NODE_PATH',
  'NODE_PENDING_DEPRECATION',
  'NODE_PRESERVE_SYMLINKS',
  'NODE_PRESERVE_SYMLINKS_MAIN',
  'NODE_REDIRECT_WARNINGS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_UNIQUE_ID',
  'NODE_USE_ENV_PROXY',
  'NODE_USE_SYSTEM_CA',
  'NODE_V8_COVERAGE',
  'OPENSSL_CONF',
  'OPENSSL_ENGINES',
  'OPENSSL_MODULES',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
  'SSLKEYLOGFILE',
]);

/** The parts of the process that sealing depends on and changes. */
export interface SealedProcess {
  readonly platform: NodeJS.Platform;
  readonly execPath: string;
  readonly argv: readonly string[];
  readonly env: Record<string, string | undefined>;
  readonly isRoot: boolean;
  /** True in the single executable, false where Node runs the sources. */
  readonly isBinary: boolean;
  /** Replaces the program of this process (execve(2)); absent where the platform has no such call. */
  readonly replace?: (file: string, argv: readonly string[], env: Record<string, string>) => void;
}

/**
 * Closes this process against its environment. Must run before anything that opens a connection.
 *
 * Node reads most of these variables before the first line of a program runs, so for a binary that runs as root deleting
 * them is too late: the program starts itself again in their absence, with the same pid. Where it cannot (Windows, the
 * sources) or need not (an unprivileged user fools nobody but himself), the variables that are read later are deleted.
 */
export function sealProcess(sealed: SealedProcess = thisProcess()): void {
  const distrusted = Object.keys(sealed.env).filter((name) => DISTRUSTED.has(name));
  if (distrusted.length > 0 && sealed.isRoot && sealed.isBinary && sealed.replace !== undefined) {
    const kept = Object.entries(sealed.env).flatMap(([name, value]) =>
      value === undefined || DISTRUSTED.has(name) ? [] : [[name, value] as const],
    );
    // Replacing the program counts as its end, at which coverage is written (nodejs/node src/node_process_methods.cc).
    if (sealed.env.NODE_V8_COVERAGE !== undefined) process.getBuiltinModule('node:v8').stopCoverage();
    // A single executable has its own path twice in argv.
    sealed.replace(sealed.execPath, [sealed.execPath, ...sealed.argv.slice(2)], Object.fromEntries(kept));
  }
  for (const name of distrusted) delete sealed.env[name];
  if (sealed.platform === 'linux') leaveMemoryOutOfCoreDumps();
}

/**
 * A core dump of this process, and of the commands that it runs, holds no memory (core(5), "Controlling which mappings
 * are written to the core dump"): unlike RLIMIT_CORE this counts where a core pattern pipes into a program, too.
 */
function leaveMemoryOutOfCoreDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // Without /proc, or in a kernel without core dumps.
  }
}

function thisProcess(): SealedProcess {
  const { platform, execPath, argv, env } = process;
  return {
    platform,
    execPath,
    argv,
    env,
    isRoot: process.getuid?.() === 0,
    isBinary: process.getBuiltinModule('node:sea').isSea(),
    ...(platform === 'win32' ? {} : { replace: (file, words, kept) => process.execve?.(file, words, kept) }),
  };
}
