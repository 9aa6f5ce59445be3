import type { Failure } from '@machineadm/document/outcomes/errors.ts';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import type { ReportEvent } from '@machineadm/status/event.ts';
import type { CommandResult } from '../../host/seam/host.ts';
import type { DeliveryContext, DeliveryResult, RemoteSink } from './remote-sink.ts';

/**
 * A message between guest and hypervisor is limited to 64 KiB including its header ("tools.setInfo.sizeLimit" and
 * GUESTMSG_MAX_IN_SIZE of open-vm-tools lib/include/guest_msg_def.h).
 */
const CAPACITY = 60 * 1024;

/** The last event, as JSON. */
const EVENT = 'guestinfo.machineadm.event';
/** Read by VM Operator: pkg/util/vmopv1 GuestInfoBootstrapCondition, shown as the condition GuestBootstrap. */
const CONDITION = 'guestinfo.vmservice.bootstrap.condition';

/**
 * Sets variables of the virtual machine through VMware Tools: the last event and, for a conclusion, the condition that
 * VM Operator shows. They are overwritten, so only the newest is visible. Every process of the machine can read them, and
 * the arguments of the Tools, which take a command in no other way. So they hold what every user may read, as the summary of
 * a status does: no quotation of a program or a file.
 */
export function guestinfoSink(): RemoteSink {
  return {
    kind: 'Guestinfo',
    isProgram: true,
    target: EVENT,
    capacity: CAPACITY,
    async deliver(event, context) {
      const condition = conditionOf(event);
      const first = await setInfo(EVENT, JSON.stringify(publicPart(event)), context);
      if (first.kind !== 'delivered' || condition === undefined) return first;
      return await setInfo(CONDITION, condition, context);
    },
  };
}

/**
 * `status,reason,message`: split at the first two commas; every status except "true" is False (VM Operator,
 * GetBootstrapConditionValues). undefined: not decided yet, because the machine may still succeed.
 */
function conditionOf(event: ReportEvent): string | undefined {
  if (event.test === true || event.type !== 'concluded') return undefined;
  const bootstrap = event.conditions.find(({ type }) => type === 'machineadm.dev/BootstrapSucceeded');
  if (bootstrap === undefined || bootstrap.status === 'Unknown') return undefined;
  return `${bootstrap.status === 'True'},${bootstrap.reason},${publicMessage(event)}`;
}

/** Words of fixed lists, names, times and numbers. Copied field by field, so that a new field does not become public by itself. */
function publicPart(event: ReportEvent): ReportEvent {
  const { apiVersion, kind, id, type, test, runId, sequence, time, sinceBootMs, command, agent, outcome, exitCode } =
    event;
  const { machine, host, attempt, phase, conditions, failure } = event;
  return {
    apiVersion,
    kind,
    id,
    type,
    ...(test === undefined ? {} : { test }),
    runId,
    sequence,
    time,
    sinceBootMs,
    command,
    agent,
    machine,
    host,
    document: { sha256: '' },
    attempt,
    phase,
    message: publicMessage(event),
    conditions: conditions.map((condition) => ({ ...condition, message: '' })),
    ...(outcome === undefined ? {} : { outcome }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(failure === undefined ? {} : { failure: publicFailure(failure) }),
    omitted: ['everything that other users of the machine may not read'],
  };
}

function publicFailure({ reason, step, retryable }: Failure): Failure {
  return {
    reason,
    ...(step === undefined ? {} : { step }),
    retryable,
    summary: REASONS[reason]?.meaning ?? reason,
    remedy: 'Run "machineadm status" on the machine.',
    evidence: [],
  };
}

function publicMessage({ failure, command, machine, type, outcome, exitCode }: ReportEvent): string {
  const reason = failure?.reason;
  const why = reason === undefined ? '' : `: ${reason}: ${REASONS[reason]?.meaning ?? 'see the status of the machine'}`;
  const state = outcome === undefined ? type : `${outcome}${exitCode === undefined ? '' : ` (exit ${exitCode})`}`;
  return `${command} of ${machine.name}: ${state}${why}`.slice(0, 900);
}

async function setInfo(variable: string, value: string, context: DeliveryContext): Promise<DeliveryResult> {
  const command = `info-set ${variable} ${value}`;
  const { status, stdout, stderr } = await runTool(command, context);
  if (status === 0) return { kind: 'delivered' };
  const said = redact(lastLine(`${stderr}\n${stdout}`));
  return { kind: 'retry', why: `status ${status}${said === '' ? '' : `: ${said.slice(0, 200)}`}` };
}

async function runTool(command: string, { run, signal }: DeliveryContext): Promise<CommandResult> {
  try {
    return await run({ program: 'vmware-rpctool', args: [command], signal });
  } catch (error) {
    if (signal.aborted) throw error;
    // With only the service of the Tools installed, it takes the same commands.
    return await run({ program: 'vmtoolsd', args: ['--cmd', command], signal });
  }
}
