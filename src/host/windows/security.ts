import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { POWERSHELL } from './paths.ts';
import { readAnswer, scriptInput, type WindowsScript } from './powershell.ts';
import { descriptorOf, modeOf } from './security-descriptor.ts';
import { READ_SECURITY, WRITE_SECURITY } from './security-scripts.ts';
import type { WindowsSystem } from './system.ts';

/** Starting PowerShell takes half a second, so neighbouring files are queried at the same time. */
const ASKED_TOGETHER = 200;
const TIMEOUT_MS = 60_000;

/** A cache of this machine's security descriptors, cleared whenever something is written or run. */
export class Security {
  readonly #system: WindowsSystem;
  readonly #known = new Map<string, string>();

  constructor(system: WindowsSystem) {
    this.#system = system;
  }

  /**
   * The descriptor of a file or directory in SDDL; undefined where Windows reports none.
   *
   * @param near paths that will be queried soon
   */
  async read(path: string, near: () => readonly string[]): Promise<string | undefined> {
    const known = this.#known.get(key(path));
    if (known !== undefined) return known;
    const paths = [...new Set([path, ...near().slice(0, ASKED_TOGETHER)])];
    const answer = await this.#script(READ_SECURITY, { paths });
    for (const entry of Array.isArray(answer) ? answer : []) {
      const [found, sddl] = [text(member(entry, 'path')), text(member(entry, 'sddl'))];
      if (found !== undefined && sddl !== undefined) this.#known.set(key(found), sddl);
    }
    return this.#known.get(key(path));
  }

  /**
   * Sets the owner to the administrators, with access for others according to `mode`. With `create` a missing directory
   * is created so. Throws `FileNotWritten` when it does not take effect.
   */
  async write(path: string, mode: number, type: 'file' | 'directory', create = false): Promise<void> {
    const wanted = descriptorOf(mode, type);
    this.#known.delete(key(path));
    const answer = await this.#script(WRITE_SECURITY, {
      path,
      directory: type === 'directory',
      sddl: wanted,
      create,
    });
    const holds = text(member(answer, 'sddl')) ?? '';
    // An empty answer is not a descriptor: its mode is 0777, which never matches.
    if (modeOf(holds, type) === modeOf(wanted, type)) return;
    throw new MachineadmError({
      reason: 'FileNotWritten',
      summary: `the access rights of ${path} differ from those that were set`,
      remedy: `Check them with "icacls ${path}"; its volume must be NTFS or ReFS, which keep access rights.`,
      evidence: [{ source: path, text: `wanted ${wanted}, has ${holds}` }],
    });
  }

  /** The command may have changed any of it. */
  forget(): void {
    this.#known.clear();
  }

  async #script(script: WindowsScript, request: object): Promise<unknown> {
    const result = await this.#system.run({
      program: POWERSHELL,
      args: script.args,
      input: scriptInput(request),
      timeoutMs: TIMEOUT_MS,
    });
    const answer = readAnswer(script, result);
    if (answer.ok) return answer.value;
    throw new MachineadmError({
      reason: 'FileNotWritten',
      summary: `the access rights of a file could not be ${script.reads ? 'read' : 'set'}: ${answer.message}`,
      remedy: 'Run as the system or as an administrator, on a volume that keeps access rights (NTFS, ReFS).',
      evidence: [{ source: `PowerShell, ${answer.type}`, text: answer.message }],
    });
  }
}

/** NTFS ignores case. */
function key(path: string): string {
  return path.toLowerCase();
}
