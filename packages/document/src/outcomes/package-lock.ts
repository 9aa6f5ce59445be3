/** What apt 1.9.11 and later prints: the lock, the pid and the name of its holder (apt-pkg/contrib/fileutl.cc, GetLock). */
export const PACKAGE_LOCK_HELD = /Could not get lock (\S{1,200})\. It is held by process (\d{1,10}) \(([^)]{1,80})\)/;

/** What other package managers, and earlier versions of apt, print where another process holds their lock. */
export const PACKAGE_LOCK =
  /(?:Could not get lock \S{1,200} ?- open|Unable to acquire the dpkg frontend lock|Another app is currently holding the (?:yum|dnf) lock|Failed to obtain the transaction lock|can't create transaction lock on|System management is locked by the application with pid)/;

const WITH_PID = /\bpid (\d{1,10})\b(?: \(([^)]{1,80})\))?/;
const WITH_PATH = /(?:Could not get lock |dpkg frontend lock \(|transaction lock on )(\/[^\s)]{1,200})/;

/** The lock of a package manager that another process holds. */
export interface PackageLock {
  readonly path?: string;
  readonly pid?: number;
  readonly name?: string;
}

/** The lock that the lines of a command complain about; what several of them say of it is put together. */
export function packageLockIn(lines: readonly string[]): PackageLock | undefined {
  let found: PackageLock | undefined;
  for (const line of lines) {
    const [, held, heldBy, heldName] = PACKAGE_LOCK_HELD.exec(line) ?? [];
    if (held === undefined && !PACKAGE_LOCK.test(line)) continue;
    const [, pid = heldBy, name = heldName] = WITH_PID.exec(line) ?? [];
    const path = held ?? WITH_PATH.exec(line)?.[1];
    found = {
      ...(path === undefined ? {} : { path }),
      ...(pid === undefined ? {} : { pid: Number(pid) }),
      ...(name === undefined ? {} : { name }),
      ...found,
    };
  }
  return found;
}
