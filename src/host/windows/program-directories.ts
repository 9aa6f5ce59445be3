import { lstatSync } from 'node:fs';
import { win32 } from 'node:path';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Command } from '../seam/host.ts';
import { PATH_OF_SYSTEM, SYSTEM_ROOT } from './paths.ts';
import type { Security } from './security.ts';
import { modeOf, ownerOf } from './security-descriptor.ts';
import type { WindowsSystem } from './system.ts';

/** Program directories that Windows does not restrict by itself: image-builder's `C:\k` and containerd's. */
const DIRECTORIES = PATH_OF_SYSTEM.filter((directory) => !isBelow(directory, SYSTEM_ROOT));
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Refuses to run programs from directories that users may write to. `C:\` lets every user create directories and, by
 * inheritance, files (icacls C:\), so `C:\k` is writable unless it was restricted; the system account would run a
 * program or library that a user puts there.
 */
export class ProgramDirectories {
  readonly #system: WindowsSystem;
  readonly #security: Security;
  #checked: Promise<void> | undefined;

  constructor(system: WindowsSystem, security: Security) {
    this.#system = system;
    this.#security = security;
  }

  /** Throws `UnsafePath` for a command in one of the directories while users may write to any of them. */
  async requireClosed(program: string, args: Command['args'] = []): Promise<void> {
    if (![program, ...args].some((word) => DIRECTORIES.some((directory) => isBelow(word, directory)))) return;
    // Checked once: starting PowerShell takes half a second.
    this.#checked ??= this.#check();
    await this.#checked;
  }

  async #check(): Promise<void> {
    const there = DIRECTORIES.filter((directory) =>
      lstatSync(this.#system.native(directory), { throwIfNoEntry: false })?.isDirectory(),
    );
    for (const directory of there) {
      const descriptor = (await this.#security.read(directory, () => there)) ?? '';
      const isOpen = (modeOf(descriptor, 'directory') & WRITABLE_BY_OTHERS) !== 0;
      if (isOpen || ownerOf(descriptor) !== 0) throw refused(directory, descriptor);
    }
  }
}

function isBelow(path: string, directory: string): boolean {
  const [lower, above] = [win32.normalize(path).toLowerCase(), directory.toLowerCase()];
  return lower === above || lower.startsWith(`${above}\\`);
}

function refused(directory: string, descriptor: string): MachineadmError {
  return new MachineadmError({
    reason: 'UnsafePath',
    summary: `no program was run from ${directory}: users who are not administrators may write there`,
    remedy:
      `Restrict it in the image: icacls ${directory} /setowner *S-1-5-32-544, then icacls ${directory} /inheritance:r ` +
      '/grant:r *S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F *S-1-5-32-545:(OI)(CI)RX. Check what is in it first.',
    evidence: [{ source: directory, text: descriptor || 'Windows returned no access rights' }],
    exit: 'Refused',
  });
}
