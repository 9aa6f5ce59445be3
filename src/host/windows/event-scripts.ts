import { windowsScript } from './powershell.ts';

/**
 * `{message, type, id}` -> `{written}`: one entry of the Application log, source `machineadm`. The class is the .NET
 * Framework's, which PowerShell 7 lacks (Microsoft Learn, System.Diagnostics.EventLog). The first entry makes the source.
 */
export const WRITE_EVENT = windowsScript(
  'write-event',
  `
if (-not [Diagnostics.EventLog]::SourceExists('machineadm')) { [Diagnostics.EventLog]::CreateEventSource('machineadm', 'Application') }
[Diagnostics.EventLog]::WriteEntry('machineadm', [string]$request.message, [Diagnostics.EventLogEntryType][string]$request.type, [int]$request.id)
$answer = @{ written = $true }
`,
);
