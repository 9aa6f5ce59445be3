import { type Evidence, MachineadmError } from '@machineadm/document/errors.ts';
import { member, text as textOf } from '@machineadm/document/untyped.ts';
import type { Command, CommandResult, Host, Query, QueryHost } from '../seam/host.ts';

/**
 * A script of Windows PowerShell that never changes: it is handed over encoded, and what it works on is one JSON object
 * on its standard input. So no value is ever part of a command line, which everybody may read, nor of the script, which
 * script block logging writes into the event log (about_Logging_Windows).
 */
export interface WindowsScript {
  /** `service-state`: also the first line of the script, so that a trace and a stand-in can tell them apart. */
  readonly name: string;
  /** The whole text. */
  readonly text: string;
  /** The arguments of powershell.exe. */
  readonly args: readonly string[];
  /** True for one that only reads: `plan` may run it. */
  readonly reads: boolean;
}

/**
 * Makes a script of its body, which finds its input as `$request` and leaves its answer in `$answer`.
 *
 * The input may hold a secret, so no cmdlet reads it: module logging writes what cmdlets are given into the event log
 * (about_Logging_Windows, ParameterBinding), and what methods of .NET are given not. Scripts keep to that with secrets.
 *
 * The answer is one line of JSON in ASCII: what the code page of the console would make of anything else is not known.
 * It carries the name of the script, and its absence is a failure: a program that does nothing and ends with 0 (Wine's
 * powershell.exe) is not taken for success. A failure is an answer, too: the numbers of .NET exceptions mean the same in
 * every language of Windows.
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

/** What a script answered: its value, or how it failed. */
export type ScriptAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string; readonly type: string; readonly hresult: number | undefined };

/** Standard input of a script. */
export function scriptInput(request: object): string {
  return `${asciiJson(request)}\n`;
}

/** The question that a script is, for `host.query`. Only for scripts that read. */
function scriptQuery(script: WindowsScript, request: object, timeoutMs?: number): Query {
  const input = scriptInput(request);
  return { program: 'powershell.exe', args: script.args, input, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

/** Asks a script that only reads. Returns the value that it answered. Throws `HostStepFailed`. */
export async function askScript(
  host: Pick<QueryHost, 'query'>,
  script: WindowsScript,
  request: object = {},
): Promise<unknown> {
  return answerValue(script, readAnswer(script, await host.query(scriptQuery(script, request))));
}

/** Runs a script that changes something. Returns the value that it answered. Throws `HostStepFailed`. */
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

/** Finds the answer of a script in what it printed. Throws `HostStepFailed` where there is none. */
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
    remedy: 'Look at the evidence; it is what Windows itself said.',
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
    summary: `powershell.exe ${ended} and did not answer the script ${script.name}: nothing is known to have been done`,
    remedy: 'Check that Windows PowerShell 5.1 runs here as the system: "powershell.exe -NoProfile -Command 1+1".',
    evidence,
  });
}

/** JSON in ASCII alone: what Windows PowerShell takes standard input for depends on the code page of the console. */
function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
