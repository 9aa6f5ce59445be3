import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { READ_FACTS } from '../../host/windows/facts-scripts.ts';
import { askScript, runScript } from '../../host/windows/powershell.ts';
import { RENAME_COMPUTER } from '../../host/windows/system-scripts.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import { EMPTY_RECORD } from '../../step/index.ts';

export interface WindowsHostnameActual {
  readonly running: string | undefined;
  /** What it will be called from the next start on. */
  readonly pending: string | undefined;
}

const TIMEOUT_MS = 60_000;

/** The name of the computer. Windows takes it at its next start: before, no domain and no kubelet would have it right. */
export const windowsHostname: FeatureStep<string, WindowsHostnameActual, string> = {
  id: 'hostname',
  section: 'host.hostname',
  isRequested: STAYS,

  desired(model) {
    return model.host.hostname;
  },

  async inspect(host) {
    const told = await askScript(host, READ_FACTS);
    return { running: text(member(told, 'hostname')), pending: text(member(told, 'pendingHostname')) };
  },

  plan(desired, { running, pending }) {
    if (same(running, desired) && same(pending, desired)) return [];
    const waits = same(pending, desired) ? ', set already: it holds from the next start on' : '';
    return [
      {
        id: 'hostname/computer',
        summary: `${running ?? 'none'} -> ${desired}${waits}`,
        scope: 'node',
        ineffective: 'HostnameNotEffective',
        needsReboot: true,
        payload: desired,
      },
    ];
  },

  async apply(host, { payload: name }, { signal }) {
    const { pending } = await windowsHostname.inspect(host, name, EMPTY_RECORD);
    if (same(pending, name)) return;
    const told = await runScript(host, RENAME_COMPUTER, { name }, { timeoutMs: TIMEOUT_MS, signal });
    const code = member(told, 'code');
    if (code === 0 && same(text(member(told, 'pending')), name)) return;
    throw new MachineadmError({
      reason: 'HostnameNotEffective',
      summary: `The computer could not be renamed to ${name}: Windows returned error ${String(code)}.`,
      remedy: `Look up the number with "net helpmsg ${String(code)}". A member of a domain keeps its name: leave the domain first.`,
      evidence: [{ source: 'Win32_ComputerSystem.Rename', text: `ReturnValue ${String(code)}` }],
    });
  },
};

/** Windows shows some names in upper case, and compares them without case. */
function same(name: string | undefined, wanted: string): boolean {
  return name?.toLowerCase() === wanted.toLowerCase();
}
