import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import { isStatus, isSummary } from '@machineadm/status/shapes.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import type { RunSummary } from '@machineadm/status/summary.ts';
import { withoutChecksum } from '../host/files/checksum.ts';

/** Parses a status document. Unknown fields are accepted; the fields that every reader needs are checked. */
export function parseStatus(text: string, path: string): RunStatus {
  const value = parsed(text, path, 'BootstrapStatus', 'status');
  if (!isStatus(value)) throw unreadable(path, 'fields are missing or have wrong values');
  return value;
}

/** The same for the summary of a status. */
export function parseSummary(text: string, path: string): RunSummary {
  const value = parsed(text, path, 'BootstrapSummary', 'summary');
  if (!isSummary(value)) throw unreadable(path, 'fields are missing or have wrong values');
  return value;
}

function parsed(text: string, path: string, kind: string, name: 'status' | 'summary'): object {
  const json = withoutChecksum(text);
  if (json === undefined) throw unreadable(path, 'its checksum is wrong');
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw unreadable(path, 'it is not JSON', error);
  }
  if (!isRecord(value) || value.kind !== kind) throw unreadable(path, `it is not a bootstrap ${name}`);
  if (value.apiVersion !== `machineadm.dev/${name}/v1`) {
    throw unreadable(path, `its version is ${JSON.stringify(value.apiVersion)}, this machineadm reads v1`);
  }
  return value;
}

/** The error for a status file, or a summary, that cannot be used. */
export function unreadable(path: string, why: string, cause?: unknown): MachineadmError {
  return new MachineadmError({
    reason: 'StatusUnreadable',
    summary: `The status file ${path} cannot be read: ${why}.`,
    remedy: 'Check the file, and remove it if it is damaged. The next run writes a new one.',
    evidence: [{ source: path, text: why }],
    cause,
  });
}
