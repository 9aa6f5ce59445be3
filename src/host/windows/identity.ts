import { member, text } from '@machineadm/document/untyped.ts';
import { READ_FACTS } from './facts-scripts.ts';
import { windowsQueryHost } from './host.ts';
import { askScript } from './powershell.ts';
import { thisSystem } from './this-system.ts';

/** The id of this machine and of its boot, for what asks for nothing else. Throws `HostStepFailed`. */
export async function readWindowsIdentity(): Promise<{ readonly machineId: string; readonly bootId: string }> {
  const told = await askScript(windowsQueryHost(thisSystem()), READ_FACTS);
  return { machineId: text(member(told, 'machineGuid')) ?? '', bootId: text(member(told, 'boot')) ?? '' };
}
