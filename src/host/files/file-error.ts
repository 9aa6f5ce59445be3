import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';

/** A file operation failed. `code` is the kernel's errno name (`EACCES`), for callers that can continue. */
export class FileError extends MachineadmError {
  readonly code: string;
  readonly path: string;

  constructor(operation: FileOperation, path: string, cause: unknown) {
    const code = errnoOf(cause) ?? 'UNKNOWN';
    const known = cause instanceof UnsafePath ? cause : KNOWN[code];
    const lasting = operation === 'read' ? 'HostStepFailed' : 'FileNotWritten';
    super({
      reason: known?.reason ?? lasting,
      summary: `${path} could not be ${PAST[operation]}: ${known?.what ?? code}`,
      remedy:
        windowsRemedy(code, path) ??
        known?.remedy(path) ??
        `Look at the path with "stat ${path}" and "namei -l ${path}".`,
      evidence: [{ source: path, text: errorMessage(cause) }],
      cause,
    });
    this.name = 'FileError';
    this.code = code;
    this.path = path;
  }
}

/** The error to throw for a file operation: a `FileError`, or the cause where it is a complete error already. */
export function fileError(operation: FileOperation, path: string, cause: unknown): MachineadmError {
  return cause instanceof MachineadmError ? cause : new FileError(operation, path, cause);
}

/** An unprivileged user could redirect a path, and so choose what root reads or writes (CWE-59). */
export class UnsafePath extends Error {
  readonly code = 'EUNSAFE';
  readonly reason: Reason = 'UnsafePath';
  readonly what: string;
  readonly #part: string;

  /**
   * @param part of the path that is the cause
   * @param why a predicate: `belongs to the user 1000`
   */
  constructor(part: string, why: string) {
    super(`${part} ${why}`);
    this.name = 'UnsafePath';
    this.what = `${part} ${why}`;
    this.#part = part;
  }

  remedy(path: string): string {
    return (
      `Look at the path with "namei -l ${path}". Remove ${this.#part} if it is not wanted; otherwise change its owner or ` +
      'mode, or those of its directory, so that no unprivileged user can replace it, or give another path.'
    );
  }
}

export type FileOperation = 'read' | 'write' | 'remove' | 'change' | 'create' | 'flush';

const PAST: Readonly<Record<FileOperation, string>> = {
  read: 'read',
  write: 'written',
  remove: 'removed',
  change: 'changed',
  create: 'created',
  flush: 'flushed to the disk',
};

interface KnownErrno {
  readonly reason?: Reason;
  readonly what: string;
  readonly remedy: (path: string) => string;
}

/** errno(3) values with a remedy for the operator. */
const KNOWN: Readonly<Record<string, KnownErrno>> = {
  ENOSPC: {
    reason: 'DiskFull',
    what: 'no space or no inodes are left',
    remedy: (path) =>
      `Free space on the file system of ${path} ("df -h" and "df -i" on its directory), then run again.`,
  },
  EDQUOT: {
    reason: 'DiskFull',
    what: 'the disk quota is used up',
    remedy: (path) => `Raise the quota on the file system of ${path} or free space ("quota", "df -h"), then run again.`,
  },
  EROFS: {
    reason: 'ReadOnlyFilesystem',
    what: 'its file system is mounted read-only',
    remedy: (path) =>
      `Choose a writable path, or find out with "findmnt -T ${path}" and the kernel log why the file system is ` +
      'read-only: an immutable OS image, or errors of the disk.',
  },
  EACCES: {
    what: 'permission denied',
    remedy: (path) => `Run as root, and check "namei -l ${path}" and the SELinux or AppArmor log.`,
  },
  EPERM: {
    what: 'operation not permitted',
    remedy: (path) => `Run as root, and check for the immutable attribute with "lsattr -d ${path}".`,
  },
  EBUSY: {
    what: 'it is in use, most often because it is a mount point itself',
    remedy: (path) => `Check "findmnt ${path}"; a file that is bind-mounted cannot be replaced.`,
  },
  EISDIR: { what: 'it is a directory', remedy: (path) => `Pass the path of a file, or remove the directory ${path}.` },
  ENOTDIR: {
    what: 'a part of the path is not a directory',
    remedy: (path) => `Check "namei -l ${path}" for a file where a directory is expected.`,
  },
  ELOOP: {
    what: 'a symbolic link is in the path, and links are not followed there',
    remedy: (path) => `Check "namei -l ${path}"; remove the link, or use the path of its target.`,
  },
  ENOENT: { what: 'it does not exist', remedy: (path) => `Check "namei -l ${path}".` },
  EIO: {
    what: 'input/output error',
    remedy: (path) => `Check the kernel log ("journalctl -k") for errors of the disk that holds ${path}.`,
  },
};

/** The remedy for a path with a drive; undefined for any other path. */
function windowsRemedy(code: string, path: string): string | undefined {
  if (!/^[A-Za-z]:\\/.test(path)) return undefined;
  if (code === 'ENOSPC') return `Free space on the drive ${path.slice(0, 2)}, then run again.`;
  if (code === 'EBUSY' || code === 'EPERM') {
    return `Find out which program has ${path} open (Resource Monitor, "openfiles"), and end it; then run again.`;
  }
  return `Run as the system or as an administrator, and look at the path with "icacls ${path}".`;
}

/** The errno name of a kernel error, or the code of another Node error; undefined for anything else. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
