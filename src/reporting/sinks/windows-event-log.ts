import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import { entryText, MESSAGE_IDS, type MessageId, messageId } from '@machineadm/status/journal-entry.ts';
import type { RunEvent } from '@machineadm/status/status.ts';
import type { Host } from '../../host/seam/host.ts';
import { runScript } from '../../host/windows/powershell.ts';
import { WRITE_EVENT } from '../../host/windows/system-scripts.ts';
import type { Sink } from '../sink.ts';

/** EventLog.WriteEntry takes 31,839 characters (learn.microsoft.com, System.Diagnostics.EventLog.WriteEntry). */
const LONGEST_MESSAGE = 31_000;
const WRITE_TIMEOUT_MS = 15_000;
const CLOSING_MS = 15_000;

/** Writes entries to the Application log, source `machineadm`. Each kind of event has an id that never changes. */
export function windowsEventLogSink(host: Pick<Host, 'run'>, platform: string = process.platform): Sink {
  return {
    name: 'WindowsEventLog',
    // Each entry starts PowerShell, which takes seconds on a machine that is booting.
    patience: { deliveryMs: WRITE_TIMEOUT_MS, closingMs: CLOSING_MS },
    async open() {
      if (platform === 'win32') return;
      throw new MachineadmError({
        reason: 'UnsupportedOnPlatform',
        summary: `there is no Windows event log on ${platform}`,
        remedy: 'Use the Journal sink here.',
      });
    },
    async deliver(event, signal) {
      const entry = windowsEntry(event);
      if (entry === undefined) return;
      const written = await runScript(host, WRITE_EVENT, entry, { signal, timeoutMs: WRITE_TIMEOUT_MS });
      if (member(written, 'written') === true) return;
      throw new Error('Windows did not say that the entry was written');
    },
    async close() {
      // Each entry was passed on completely.
    },
  };
}

export interface WindowsEntry {
  readonly message: string;
  readonly type: 'Error' | 'Warning' | 'Information';
  /** The index of the kind in `MESSAGE_IDS`, from 1. */
  readonly id: number;
}

/** The text for an event; undefined for details. */
export function windowsEntry(event: RunEvent): WindowsEntry | undefined {
  const kind = messageId(event);
  if (kind.priority > 6) return undefined;
  const kinds: readonly MessageId[] = Object.values(MESSAGE_IDS);
  const message = entryText(event);
  return {
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message,
    type: kind.priority <= 3 ? 'Error' : kind.priority === 4 ? 'Warning' : 'Information',
    id: kinds.indexOf(kind) + 1,
  };
}
