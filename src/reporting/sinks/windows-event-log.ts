import { MachineadmError } from '../../document/errors.ts';
import type { Host } from '../../host/host.ts';
import { oneLine } from '../progress.ts';
import type { Sink } from '../sink.ts';
import type { RunEvent } from '../status.ts';
import { entryText, MESSAGE_IDS, type MessageId, messageId } from './journal.ts';

/** EventLog.WriteEntry takes 31,839 characters (learn.microsoft.com, System.Diagnostics.EventLog.WriteEntry). */
const LONGEST_MESSAGE = 31_000;

/**
 * Reads one entry as JSON from standard input, so that no text of an event is ever part of a command. Windows PowerShell
 * is on every Windows Server; the class is the .NET Framework's, which PowerShell 7 lacks. The first entry makes the source.
 */
export const WRITE_ENTRY = [
  "$ErrorActionPreference = 'Stop'",
  '$entry = [Console]::In.ReadToEnd() | ConvertFrom-Json',
  "if (-not [Diagnostics.EventLog]::SourceExists('machineadm')) { [Diagnostics.EventLog]::CreateEventSource('machineadm', 'Application') }",
  "[Diagnostics.EventLog]::WriteEntry('machineadm', $entry.message, $entry.type, $entry.id)",
].join('; ');

/** Writes entries of the Application log, source `machineadm`. Each kind of event has an id that never changes. */
export function windowsEventLogSink(host: Pick<Host, 'run'>, platform: string = process.platform): Sink {
  return {
    name: 'WindowsEventLog',
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
      const args = ['-NoProfile', '-NonInteractive', '-Command', WRITE_ENTRY];
      const result = await host.run({ program: 'powershell.exe', args, input: asciiJson(entry), signal });
      if (result.status === 0) return;
      throw new Error(`powershell.exe: ${oneLine(result.stderr) || `status ${result.status}`}`);
    },
    async close() {
      // Each entry was handed over whole.
    },
  };
}

export interface WindowsEntry {
  readonly message: string;
  readonly type: 'Error' | 'Warning' | 'Information';
  /** The place of the kind in `MESSAGE_IDS`, from 1. */
  readonly id: number;
}

/** What is written of an event; undefined for what is detail. */
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

/** JSON in ASCII alone: what Windows PowerShell takes standard input for depends on the code page of the console. */
function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
