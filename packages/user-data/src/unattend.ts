import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Carrier } from './carrier.ts';
import { base64, gzipBase64 } from './encoding.ts';
import {
  CLOSE_DIRECTORY,
  provisionOnWindows,
  refusesLinux,
  WINDOWS_DIRECTORY,
  WINDOWS_DOCUMENT,
  WINDOWS_DOWNLOAD_SCRIPT,
  WINDOWS_PROGRAM,
} from './windows.ts';

/** Limits for Path and Order of a RunSynchronousCommand (Microsoft-Windows-Deployment, Unattended Setup Reference). */
const LONGEST_COMMAND = 259;
const MOST_COMMANDS = 500;
/** Leaves room for the rest of the command around a piece of the document. */
const PIECE = 160;

/**
 * An answer file. The pass `specialize` has neither network nor services, so its commands only write the document and
 * register a task that runs machineadm as the system account at every start; the second run changes nothing.
 * The exit codes of a command with `WillReboot=OnRequest`: 0 continues, 1 reboots and continues, 2 reboots and repeats,
 * and every other code ends Windows Setup. A program's own failure code 1 must not be read as a reboot request, so it
 * becomes 3. The document is written in pieces of base64, which machineadm reads as it is. The download script is
 * written in the same way and decoded by certutil, which is part of every Windows.
 */
export const unattend: Carrier = {
  consumer: 'Windows Setup (unattend.xml)',
  program: WINDOWS_PROGRAM,
  fetches: 'powershell',
  secretFormat: undefined,
  refuses: refusesLinux,
  async wrap(load) {
    const { document, downloadScript } = load;
    const encoded = `${WINDOWS_DOWNLOAD_SCRIPT}.base64`;
    const commands = [
      `if not exist ${WINDOWS_DIRECTORY} mkdir ${WINDOWS_DIRECTORY} || exit 3`,
      `${CLOSE_DIRECTORY} || exit 3`,
      ...writeCommands(WINDOWS_DOCUMENT, await gzipBase64(document)),
      ...(downloadScript === undefined
        ? []
        : [
            ...writeCommands(encoded, base64(downloadScript)),
            `certutil.exe -f -decode ${encoded} ${WINDOWS_DOWNLOAD_SCRIPT} || exit 3`,
          ]),
      `schtasks.exe /Create /F /TN \\machineadm\\provision /SC ONSTART /RU SYSTEM /RL HIGHEST /TR "${provisionOnWindows(load)}" && exit 1 || exit 3`,
    ].map((command) => `cmd.exe /c "${command}"`);
    check(commands);
    return answerFile(commands);
  },
};

/** The commands that write a text to a file, piece by piece. */
function writeCommands(path: string, text: string): readonly string[] {
  const pieces = text.match(new RegExp(`.{1,${PIECE}}`, 'g')) ?? [];
  // The redirection comes first: cmd would read a digit before it as a file handle.
  return pieces.map((piece, index) => `${index === 0 ? '>' : '>>'}${path} echo ${piece}|| exit 3`);
}

function check(commands: readonly string[]): void {
  if (commands.length <= MOST_COMMANDS && commands.every(({ length }) => length <= LONGEST_COMMAND)) return;
  throw new MachineadmError({
    reason: 'UserDataTooLarge',
    summary: `an answer file can contain ${MOST_COMMANDS} commands of ${LONGEST_COMMAND} characters, and this document needs more`,
    remedy: 'Remove large files from the document (files have http sources), or use a shorter path for --binary.',
  });
}

function answerFile(commands: readonly string[]): string {
  const list = commands.map(
    (command, index) => `        <RunSynchronousCommand wcm:action="add">
          <Order>${index + 1}</Order>
          <Description>machineadm ${index + 1} of ${commands.length}</Description>
          <Path>${escapeXml(command)}</Path>
          <WillReboot>${index + 1 === commands.length ? 'OnRequest' : 'Never'}</WillReboot>
        </RunSynchronousCommand>
`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<unattend xmlns="urn:schemas-microsoft-com:unattend" xmlns:wcm="http://schemas.microsoft.com/WMIConfig/2002/State">
  <settings pass="specialize">
    <component name="Microsoft-Windows-Deployment" processorArchitecture="amd64" publicKeyToken="31bf3856ad364e35" language="neutral" versionScope="nonSxS">
      <RunSynchronous>
${list.join('')}      </RunSynchronous>
    </component>
  </settings>
</unattend>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
