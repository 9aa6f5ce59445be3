import type { ExecModel } from '@machineadm/document/model/index.ts';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import { describeKill, killOf, remedyOfKill, signalOfStatus } from '../../host/commands/killed.ts';
import type { CommandResult, Host } from '../../host/seam/host.ts';
import { inShellEnvironment, type ShellEnvironment } from '../shell-environment.ts';
import { explain } from './failure-patterns.ts';

/** Callbacks and limits of a running program. */
export interface ExecWatch {
  readonly signal: AbortSignal;
  /** Each line, redacted, as it arrives. */
  readonly line: (text: string) => void;
}

const SOURCE = 'bootstrapper';
/** What failure patterns are matched against, from the end. */
const MOST_LINES = 5_000;
const SHOWN_LINES = 8;
/** Limit for a success test and a reset; the program itself has its own limit. */
const TEST_TIMEOUT_MS = 60_000;
const RESET_TIMEOUT_MS = 5 * 60_000;

/**
 * Runs the document's program to its end with the order on its standard input. Its exit status is the verdict.
 *
 * @throws MachineadmError `ExecBootstrapperFailed` with the message of the first failure pattern that matches a line;
 * `BootstrapperKilled` for a program that was killed by a signal
 */
export async function runProgram(
  host: Host,
  exec: ExecModel,
  order: string,
  watch: ExecWatch,
  shellEnvironment?: ShellEnvironment,
): Promise<void> {
  const lines: string[] = [];
  const result = await whereKilled(exec.command, lines, () =>
    host.run({
      ...inShellEnvironment(exec.command, exec.args, shellEnvironment),
      input: order,
      env: { ...shellEnvironment?.env, ...Object.fromEntries(exec.env.map(({ name, value }) => [name, value])) },
      timeoutMs: exec.timeoutMs,
      signal: watch.signal,
      supervised: true,
      onLine: (_stream, text) => {
        lines.push(text);
        if (lines.length > MOST_LINES) lines.shift();
        watch.line(text);
      },
    }),
  );
  if (result.status === 0 && !result.timedOut) return;
  throw await programFailed(exec, result, lines);
}

/** Whether the document's success test passes now; undefined without one. */
export async function passesSuccessTest(host: Host, exec: ExecModel, signal: AbortSignal): Promise<TestResult> {
  const [program, ...args] = exec.successTest ?? [];
  if (program === undefined) return { passed: undefined, words: [] };
  try {
    const result = await host.run({ program, args, timeoutMs: TEST_TIMEOUT_MS, signal, supervised: true });
    return { passed: result.status === 0 && !result.timedOut, words: endOfOutput(result) };
  } catch (error) {
    const kill = killOf(error);
    if (kill === undefined) throw error;
    return { passed: false, words: [`${program} ${describeKill(kill)}`] };
  }
}

export interface TestResult {
  readonly passed: boolean | undefined;
  /** The last lines that the test printed. */
  readonly words: readonly string[];
}

/**
 * Undoes an earlier attempt, if the document defines how.
 *
 * @throws MachineadmError `ExecBootstrapperFailed` when it does not end with status 0
 */
export async function resetProgram(host: Host, exec: Pick<ExecModel, 'reset'>, watch: ExecWatch): Promise<void> {
  const [program, ...args] = exec.reset ?? [];
  if (program === undefined) return;
  const result = await host.run({
    program,
    args,
    timeoutMs: RESET_TIMEOUT_MS,
    signal: watch.signal,
    supervised: true,
    onLine: (_stream, text) => watch.line(text),
  });
  if (result.status === 0 && !result.timedOut) return;
  throw new MachineadmError({
    reason: 'ExecBootstrapperFailed',
    summary: `${program} could not undo an earlier attempt (${outcome(result, RESET_TIMEOUT_MS)}).`,
    remedy:
      'Undo the attempt manually, or correct kubernetes.bootstrapper.exec.reset, and run machineadm provision again.',
    evidence: endOfOutput(result).map(evidence),
  });
}

/** Names a killed program, with its last output. */
async function whereKilled(
  program: string,
  lines: readonly string[],
  run: () => Promise<CommandResult>,
): Promise<CommandResult> {
  try {
    return await run();
  } catch (error) {
    const kill = killOf(error);
    if (kill === undefined) throw error;
    throw new MachineadmError({
      reason: 'BootstrapperKilled',
      summary: `${program} ${describeKill(kill)}.`,
      remedy: remedyOfKill(kill, program),
      evidence: [
        ...(kill.outOfMemory === undefined ? [] : [kill.outOfMemory]),
        ...lines.slice(-SHOWN_LINES).map(evidence),
      ],
      retryable: true,
    });
  }
}

async function programFailed(
  exec: ExecModel,
  result: CommandResult,
  lines: readonly string[],
): Promise<MachineadmError> {
  const found = await explain(exec.failurePatterns, lines);
  const how = outcome(result, exec.timeoutMs);
  return new MachineadmError({
    reason: 'ExecBootstrapperFailed',
    summary:
      found === undefined ? `${exec.command} failed (${how}).` : `${found.pattern.reason} (${exec.command}, ${how})`,
    remedy:
      found?.pattern.remedy ??
      'Read the lines of the program in the evidence, correct the document or the machine, and run machineadm provision again.',
    evidence: [...new Set([...(found === undefined ? [] : [found.line]), ...lines.slice(-SHOWN_LINES)])].map(evidence),
    retryable: found?.pattern.retryable ?? false,
  });
}

function outcome({ status, timedOut, outOfMemory }: CommandResult, limitMs: number): string {
  if (timedOut) return `it did not end within ${formatDuration(limitMs)}`;
  const signal = signalOfStatus(status);
  // A shell reports how its last program ended.
  const killed = signal === undefined ? '' : `: a program it ran ${describeKill({ signal, outOfMemory })}`;
  return `exit status ${status}${killed}`;
}

function endOfOutput({ stdout, stderr }: CommandResult): readonly string[] {
  return textLines(stdout, stderr).slice(-SHOWN_LINES);
}

function evidence(text: string): Evidence {
  return { source: SOURCE, text };
}
