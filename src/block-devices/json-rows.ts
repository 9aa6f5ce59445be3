import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { scalar } from '@machineadm/document/values/untyped.ts';

/** What a program printed as JSON. Throws `HostStepFailed` where it is none: nothing is decided by what is not understood. */
export function printedJson(program: string, stdout: string): unknown {
  try {
    return JSON.parse(stdout);
  } catch (cause) {
    throw new MachineadmError({
      reason: 'HostStepFailed',
      summary: `${program} did not print valid JSON.`,
      remedy: `Run "${program} --json" manually. It may be another program with the same name, or it may have been killed.`,
      evidence: [{ source: program, text: stdout.slice(0, 200) }],
      cause,
    });
  }
}

/**
 * Rows of what lsblk(8) and findmnt(8) print as JSON, every cell as text: util-linux before 2.33 quotes numbers, later
 * versions do not. [] for JSON of another shape. Throws `HostStepFailed` for what is not JSON.
 */
export function jsonRows(
  stdout: string,
  key: 'blockdevices' | 'filesystems',
): readonly Readonly<Record<string, string | undefined>>[] {
  const parsed = printedJson(key === 'blockdevices' ? 'lsblk' : 'findmnt', stdout);
  const rows: unknown = typeof parsed === 'object' && parsed !== null ? Reflect.get(parsed, key) : undefined;
  if (!Array.isArray(rows)) return [];
  return rows.map((row: unknown) => {
    const cells = Object.entries(typeof row === 'object' && row !== null ? row : {});
    return Object.fromEntries(cells.map(([name, value]) => [name, scalar(value)]));
  });
}
