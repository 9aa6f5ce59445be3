import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { Command, CommandResult, Host } from '../seam/host.ts';
import { OWN_DIRECTORY, SYSTEM32 } from './paths.ts';

/** The task that resumes a run after a reboot or a kill: started at every boot. */
const RESUME_TASK = '\\machineadm\\resume';
/** Read once by schtasks.exe, then removed. */
export const RESUME_TASK_FILE = `${OWN_DIRECTORY}\\resume-task.xml`;
const SCHTASKS = `${SYSTEM32}\\schtasks.exe`;
const TIMEOUT_MS = 60_000;

type TaskHost = Pick<Host, 'run' | 'writeFile' | 'removeFile'>;

/**
 * Registers or corrects the task. Throws `ResumptionNotArranged` where Windows does not list it afterwards: messages of
 * schtasks.exe are localised, so only the listed definition counts.
 *
 * @param command absolute path of a program, and its arguments
 */
export async function registerResumeTask(host: TaskHost, command: readonly string[]): Promise<void> {
  const [program = '', ...args] = command;
  const action = { program, arguments: commandLine(args) };
  try {
    await host.writeFile({ path: RESUME_TASK_FILE, content: encoded(resumeTaskXml(action)), mode: 0o600 });
    const created = await host.run(schtasks('/Create', '/TN', RESUME_TASK, '/XML', RESUME_TASK_FILE, '/F'));
    const shown = await host.run(schtasks('/Query', '/TN', RESUME_TASK, '/XML'));
    if (created.status !== 0 || shown.status !== 0 || !runs(shown.stdout, action)) {
      throw notArranged(created.status === 0 ? shown : created);
    }
  } finally {
    await host.removeFile(RESUME_TASK_FILE);
  }
}

/** Removes the task. Throws `ResumptionNotArranged` where it still exists. */
export async function removeResumeTask(host: TaskHost): Promise<void> {
  const removed = await host.run(schtasks('/Delete', '/TN', RESUME_TASK, '/F'));
  const left = await host.run(schtasks('/Query', '/TN', RESUME_TASK, '/XML'));
  if (left.status === 0 && left.stdout.includes('<Task')) throw notArranged(removed);
}

/** The command line of a task, which the program itself splits into arguments. */
export interface TaskAction {
  readonly program: string;
  readonly arguments: string;
}

/**
 * A definition of Task Scheduler 1.4 ([MS-TSCH] 2.5, Task Scheduler Schema): at boot, as SYSTEM, without the default
 * limits (three days, not on batteries), and never twice at a time.
 */
export function resumeTaskXml(action: TaskAction): string {
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.4" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Author>machineadm</Author>
    <Description>Goes on with a run of machineadm that a reboot or a kill cut off</Description>
  </RegistrationInfo>
  <Triggers>
    <BootTrigger>
      <Enabled>true</Enabled>
    </BootTrigger>
  </Triggers>
  <Principals>
    <Principal id="System">
      <UserId>S-1-5-18</UserId>
      <RunLevel>HighestAvailable</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Enabled>true</Enabled>
  </Settings>
  <Actions Context="System">
    <Exec>
      <Command>${escapeXml(action.program)}</Command>
      <Arguments>${escapeXml(action.arguments)}</Arguments>
    </Exec>
  </Actions>
</Task>
`;
}

/**
 * Arguments as one line that CommandLineToArgvW and the C runtime split into the same arguments: quotes around
 * arguments with blanks, and backslashes doubled only before a quote (Microsoft Learn, "Parsing C command-line
 * arguments").
 */
export function commandLine(args: readonly string[]): string {
  return args
    .map((arg) => {
      if (arg !== '' && !/[\s"]/.test(arg)) return arg;
      return `"${arg.replace(/(?<!\\)(\\*)"/g, '$1$1\\"').replace(/(?<!\\)(\\+)$/, '$1$1')}"`;
    })
    .join(' ');
}

function schtasks(...args: readonly string[]): Command {
  return { program: SCHTASKS, args, timeoutMs: TIMEOUT_MS };
}

/** schtasks.exe accepts only the encoding that the file declares. */
function encoded(xml: string): Uint8Array {
  return Buffer.from(`\uFEFF${xml.replaceAll('\n', '\r\n')}`, 'utf16le');
}

/**
 * Whether a listed task definition starts this command. Windows rewrites definitions, so only the action is compared.
 */
function runs(shown: string, action: TaskAction): boolean {
  return (
    shown.includes(`<Command>${escapeXml(action.program)}</Command>`) &&
    (action.arguments === '' || unescapedArguments(shown) === action.arguments)
  );
}

/** Windows escapes fewer characters than we do. */
function unescapedArguments(shown: string): string | undefined {
  return /<Arguments>([^<]*)<\/Arguments>/
    .exec(shown)?.[1]
    ?.replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function notArranged(result: CommandResult): MachineadmError {
  const said = textLines(result.stdout, result.stderr);
  return new MachineadmError({
    reason: 'ResumptionNotArranged',
    summary: `The scheduled task ${RESUME_TASK}, which resumes a run after a reboot, could not be changed.`,
    remedy: 'Check that the service Schedule runs (sc.exe query Schedule), and run machineadm provision again.',
    evidence: [
      { source: 'schtasks.exe', text: `status ${result.status}` },
      ...said.slice(-2).map((text) => ({ source: 'schtasks.exe', text: text.trim() })),
    ],
    retryable: true,
  });
}
