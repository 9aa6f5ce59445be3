import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { windowsEventLines, windowsLogLines } from '../../../src/diagnosis/windows-logs.ts';
import {
  readClockOffset,
  readController,
  readVerification,
} from '../../../src/features/active-directory/windows/commands.ts';
import { parseWindowsMarker } from '../../../src/features/hooks/windows-script.ts';
import { offsetIn } from '../../../src/features/time/windows-clock.ts';
import { gatherWindowsFacts } from '../../../src/host/machine/windows-facts.ts';
import type { CommandResult } from '../../../src/host/seam/host.ts';
import { READ_FACTS } from '../../../src/host/windows/facts-scripts.ts';
import { readAnswer } from '../../../src/host/windows/powershell.ts';
import { modeOf, ownerOf } from '../../../src/host/windows/security-descriptor.ts';
import { SERVICE_STATE } from '../../../src/host/windows/service-scripts.ts';
import { serviceState } from '../../../src/host/windows/services.ts';
import { memoryHost } from '../../../test/support/memory-host.ts';
import { jsonLine } from '../mutators/json.ts';
import type { FuzzTarget } from '../target.ts';

const answer = (script: string, value: unknown) => JSON.stringify({ script, answer: value });
const FACTS = {
  drive: 'C:',
  boot: '2026-11-20T10:00:00Z',
  hostname: 'N',
  build: '20348.2700',
  version: '10.0',
  machineGuid: 'a',
  bootNumber: '7',
  firmware: '{A}',
  addresses: ['10.0.0.5'],
  isAdministrator: true,
};
const SERVICE = { exists: true, state: 'Running', start: 'Automatic', processId: 7, startedAt: '2026-11-20T10:00:00Z' };
const EVENT = `<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><Provider Name='Service Control Manager'/><EventID Qualifiers='49152'>7034</EventID></System><EventData><Data Name='param1'>kubelet &amp; co</Data></EventData><RenderingInfo><Message>The kubelet service terminated</Message></RenderingInfo></Event>`;

async function refused(work: Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await work) ?? '';
  } catch (error) {
    if (error instanceof MachineadmError) return `${error.message} ${error.remedy}`;
    throw error;
  }
}

export const windows: FuzzTarget = {
  name: 'windows',
  reads: 'Output of PowerShell, wevtutil, w32tm and nltest; security descriptors',
  seeds: [
    `${answer(READ_FACTS.name, FACTS)}\n`,
    `${answer(SERVICE_STATE.name, SERVICE)}\n`,
    `${JSON.stringify({ script: READ_FACTS.name, error: { message: 'denied', type: 'System.UnauthorizedAccessException', hresult: -2147024891 } })}\r\n`,
    `${EVENT}${EVENT}`,
    'Tracking 10.0.0.1 [10.0.0.1:123].\n14:03:07, +00.0012345s\n',
    '           DC: \\\\DC1.corp.example\n      Address: \\\\10.0.0.1\nTrust Verification Status = 0 0x0 NERR_Success\n',
    'I_NetLogonControl failed: Status = 1355 0x54b ERROR_NO_SUCH_DOMAIN\n',
    'O:BAG:SYD:PAI(D;;FA;;;BU)(A;;FA;;;SY)(A;;0x1200a9;;;S-1-5-21-1-2-3-1001)',
  ],
  tokens: [
    '<Event>',
    '</Event>',
    '<Message>',
    '<Data>',
    '&lt;',
    '\r\n',
    '\n',
    '{',
    '}',
    '"',
    ',',
    '\\',
    '(A;',
    ';',
    ')',
    'S-1-5-',
    ', +',
    's',
    'Status = ',
    '0x',
    '##machineadm ',
  ],
  grammar: [jsonLine],
  run: async (input) => {
    const result: CommandResult = { status: input.length % 3, stdout: input, stderr: '', timedOut: false };
    const host = memoryHost({
      programs: {
        'powershell.exe': () => result,
        'wevtutil.exe': () => result,
        containerd: () => result,
      },
      files: { '/var/log/kubelet/kubelet.exe.INFO': input },
    });
    const words = [await refused(gatherWindowsFacts(host, 'x64')), await refused(serviceState(host, 'kubelet'))];
    words.push(await refused(Promise.resolve().then(() => readAnswer(READ_FACTS, result))));
    const lines = [...(await windowsEventLines(host, 0, 1e12)), ...(await windowsLogLines(host, 0, 1e12))];
    words.push(...lines.map(({ text }) => text.slice(0, 100)));
    words.push(`${offsetIn(input)} ${readClockOffset(result)} ${readVerification(result)}`);
    words.push(JSON.stringify(readController(result)), `${modeOf(input, 'file')} ${ownerOf(input)}`);
    words.push(JSON.stringify(parseWindowsMarker(input, 'token')));
    return words.join('\n');
  },
};
