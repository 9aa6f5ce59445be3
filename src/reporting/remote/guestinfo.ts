import { lastLine } from '@machineadm/document/printable.ts';
import { redact } from '@machineadm/document/redaction.ts';
import { eventLine, type ReportEvent } from '@machineadm/status/event.ts';
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
 * VM Operator shows. They are overwritten, so only the newest is visible; every process of the machine can read them.
 */
export function guestinfoSink(): RemoteSink {
  return {
    kind: 'Guestinfo',
    target: EVENT,
    capacity: CAPACITY,
    async deliver(event, context) {
      const condition = conditionOf(event);
      const first = await setInfo(EVENT, JSON.stringify(event), context);
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
  return `${bootstrap.status === 'True'},${bootstrap.reason},${eventLine(event, 900)}`;
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
