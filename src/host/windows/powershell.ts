import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text as textOf } from '@machineadm/document/values/untyped.ts';
import type { Command, CommandResult, Host, Query, QueryHost } from '../seam/host.ts';

/**
 * A constant Windows PowerShell script: it is passed encoded, with its input as one JSON object on standard input. So
 * no value is ever part of a command line, which every user may read, nor of the script, which script block logging
 * writes to the event log (about_Logging_Windows).
 */
export interface WindowsScript {
  /** `service-state`: also the first line of the script, so that traces and test doubles can identify it. */
  readonly name: string;
  /** The whole text. */
  readonly text: string;
  /** The arguments of powershell.exe. */
  readonly args: readonly string[];
  /** True for a read-only script: `plan` may run it. */
  readonly reads: boolean;
}

/**
 * Creates a script from its body, which gets its input as `$request` and sets `$answer`.
 * The input may contain a secret, so no cmdlet reads it: module logging writes cmdlet parameters to the event log
 * (about_Logging_Windows, ParameterBinding), but not those of .NET methods. Scripts follow that rule for secrets.
 * The answer is one line of JSON in ASCII, because the console's code page is not known. It contains the name of the
 * script, and a missing answer is a failure: a program that does nothing and exits with 0 (Wine's powershell.exe) does
 * not count as success. A failure is an answer, too: the numbers of .NET exceptions are the same in every language of
 * Windows.
 */
export function windowsScript(name: string, body: string, options: { readonly reads?: true } = {}): WindowsScript {
  const text = `# machineadm ${name}
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
try {
[void][Reflection.Assembly]::Load('System.Web.Extensions, Version=4.0.0.0, Culture=neutral, PublicKeyToken=31bf3856ad364e35')
$reader = [Web.Script.Serialization.JavaScriptSerializer]::new()
$reader.MaxJsonLength = [int]::MaxValue
$request = $reader.DeserializeObject([Console]::In.ReadToEnd())
$answer = $null
${body.trim()}
$result = @{ script = '${name}'; answer = $answer }
} catch {
$result = @{ script = '${name}'; error = @{ message = [string]$_.Exception.Message; type = $_.Exception.GetType().FullName; hresult = $_.Exception.HResult } }
}
$json = ConvertTo-Json -InputObject $result -Compress -Depth 6
$json = [regex]::Replace($json, '[^\\x20-\\x7e]', { '\\u{0:x4}' -f [int][char]$args[0].Value })
[Console]::Out.WriteLine($json)
exit 0
`;
  const encoded = Buffer.from(text, 'utf16le').toString('base64');
  const args = ['-NoLogo', '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-EncodedCommand', encoded];
  return { name, text, args, reads: options.reads === true };
}

/** The answer of a script: its value, or its failure. */
export type ScriptAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string; readonly type: string; readonly hresult: number | undefined };

export function scriptInput(request: object): string {
  return `${asciiJson(request)}\n`;
}

/** The query of a script, for `host.query`. Only for read-only scripts. */
function scriptQuery(script: WindowsScript, request: object, timeoutMs?: number): Query {
  const input = scriptInput(request);
  return { program: 'powershell.exe', args: script.args, input, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

/** Runs a read-only script. Returns its answer. Throws `HostStepFailed`. */
export async function askScript(
  host: Pick<QueryHost, 'query'>,
  script: WindowsScript,
  request: object = {},
): Promise<unknown> {
  return answerValue(script, readAnswer(script, await host.query(scriptQuery(script, request))));
}

/** Runs a script with side effects. Returns its answer. Throws `HostStepFailed`. */
export async function runScript(
  host: Pick<Host, 'run'>,
  script: WindowsScript,
  request: object,
  options: Pick<Command, 'timeoutMs' | 'signal'> = {},
): Promise<unknown> {
  const input = scriptInput(request);
  const result = await host.run({ program: 'powershell.exe', args: script.args, input, ...options });
  return answerValue(script, readAnswer(script, result));
}

/** Extracts a script's answer from its output. Throws `HostStepFailed` where there is none. */
export function readAnswer(script: WindowsScript, result: CommandResult): ScriptAnswer {
  for (const line of result.stdout.split(/\r?\n/)) {
    const said = parsed(line);
    if (member(said, 'script') !== script.name) continue;
    const error = member(said, 'error');
    if (error === undefined) return { ok: true, value: member(said, 'answer') ?? undefined };
    const hresult = member(error, 'hresult');
    return {
      ok: false,
      message: textOf(member(error, 'message')) ?? 'no message',
      type: textOf(member(error, 'type')) ?? '',
      hresult: typeof hresult === 'number' ? hresult : undefined,
    };
  }
  throw noAnswer(script, result);
}

function parsed(line: string): unknown {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function answerValue(script: WindowsScript, answer: ScriptAnswer): unknown {
  if (answer.ok) return answer.value;
  throw new MachineadmError({
    reason: 'HostStepFailed',
    summary: `Windows refused what the script ${script.name} of machineadm does: ${answer.message}`,
    remedy: 'The evidence is the message of Windows.',
    evidence: [{ source: `PowerShell, ${answer.type}`, text: answer.message }],
  });
}

function noAnswer(script: WindowsScript, result: CommandResult): MachineadmError {
  const evidence: Evidence[] = [];
  const said = result.stderr.trim().slice(0, 2000);
  if (said !== '') evidence.push({ source: 'powershell.exe', text: said });
  const ended = result.timedOut ? 'did not end in time' : `ended with status ${result.status}`;
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `powershell.exe ${ended} and did not answer the script ${script.name}, so it is not known what it has done`,
    remedy: 'Check that Windows PowerShell 5.1 runs here as the system: "powershell.exe -NoProfile -Command 1+1".',
    evidence,
  });
}

/** Windows Management Instrumentation gave an answer without what every Windows has. */
export function notReturned(what: string, type: string): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `Windows did not return ${what}.`,
    remedy: `Check that Windows Management Instrumentation works: "Get-CimInstance ${type}" in PowerShell.`,
  });
}

/** JSON in ASCII: how Windows PowerShell decodes standard input depends on the console's code page. */
function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
