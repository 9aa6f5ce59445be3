import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { decodeSource } from '@machineadm/document/encodings/decode.ts';
import { type CarrierName, wrapDocument } from '@machineadm/user-data/index.ts';
import { parse } from 'yaml';
import { load } from '../support/document.ts';
import { needs } from '../support/needs.ts';
import { openWine, type Wine } from '../support/wine.ts';

const DOCUMENT = `# {{ braces }}, 'quotes' & "more" %PATH% ^ < > |
apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: windows-1}
host: {platform: Windows}
`;
const DOWNLOAD_SCRIPT = `# ${'x'.repeat(700)} %PATH% & "more" | ^\nexit 67\n`;
const DIRECTORY = 'C:\\ProgramData\\machineadm';

async function wrap(format: CarrierName, document = DOCUMENT): Promise<string> {
  const result = await load(DOCUMENT);
  assert.ok(result.ok);
  const { userData } = await wrapDocument(document, result.document, { format, downloadScript: DOWNLOAD_SCRIPT });
  return userData;
}

const opened = await openWine();
if ('unavailable' in opened) test('what is wrapped for Windows, under Wine', { skip: needs(opened) }, () => {});
else underWine(opened);

/** icacls is a stub there that ends with 0: what is shown is what cmd itself does with our command lines. */
function underWine(wine: Wine): void {
  describe("user data for Windows, run by Wine's cmd", { timeout: 600_000 }, () => {
    after(() => wine.close());

    test('the commands of an answer file write the document and the script byte for byte, and request the reboot', async () => {
      const commands = [...(await wrap('unattend')).matchAll(/<Path>([^<]*)<\/Path>/g)].map(([, path = '']) =>
        path.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
      );
      const last = commands.length - 1;
      // Wine has no certutil and no tasks: of the last command is shown what schtasks would be given.
      const run = commands
        .filter((command) => !command.includes('certutil.exe'))
        .map((command) => command.replace('schtasks.exe', 'echo'));
      assert.equal(run.length, last);
      const lines = run.map((command, index) =>
        command === run.at(-1) ? command : `${command}\r\nif errorlevel 1 exit ${10 + index}`,
      );
      wine.write('C:\\setup.cmd', `@echo off\r\n${lines.join('\r\n')}\r\nexit %ERRORLEVEL%\r\n`);
      const { status, stdout, stderr } = await wine.run('cmd', ['/c', 'C:\\setup.cmd']);
      assert.equal(status, 1, `${stdout}${stderr}`);
      const started = `powershell.exe -nop -ep Bypass -f ${DIRECTORY}\\download.ps1 provision -d ${DIRECTORY}\\bootstrap.yaml`;
      assert.ok(stdout.includes(`/RU SYSTEM /RL HIGHEST /TR "${started}"`), stdout);
      const laid = wine.read(`${DIRECTORY}\\bootstrap.yaml`);
      assert.ok(laid !== undefined);
      assert.equal(await decodeSource('laid', laid), DOCUMENT);
      const script = wine.read(`${DIRECTORY}\\download.ps1.base64`)?.toString() ?? '';
      assert.equal(Buffer.from(script, 'base64').toString(), DOWNLOAD_SCRIPT);
      const read = await wine.agent(['validate', '-d', `${DIRECTORY}\\bootstrap.yaml`]);
      assert.equal(read.status, 0, read.stderr);
    });

    test("the batch file of cloudbase-init ends with machineadm's exit status", async () => {
      const result = await load(DOCUMENT);
      assert.ok(result.ok);
      const { userData } = await wrapDocument(DOCUMENT, result.document, { format: 'cloudbase-init' });
      const { runcmd } = parse(userData);
      // A run there is for other tests: whether the last command is reached, and decides, is shown by one that is as long.
      const commands = runcmd.map((command: string) =>
        command.replace(' provision -d ', ' validate -d ').replace(/ --exit-codes=\S+$/, ''),
      );
      assert.notDeepEqual(commands, runcmd);
      wine.write(`${DIRECTORY}\\bootstrap.yaml`, DOCUMENT.replace('metadata', 'metadatum'));
      // As its executor makes a file of runcmd (cloudbaseinit/plugins/common/userdataplugins/cloudconfigplugins/runcmd.py).
      wine.write('C:\\userdata.cmd', `rem cmd\r\n${commands.join('\r\n')}\r\n`);
      const { status, stdout, stderr } = await wine.run('cmd', ['/c', 'C:\\userdata.cmd']);
      assert.equal(status, 3, `${stdout}${stderr}`);
      assert.match(stdout, /metadatum: unknown key/);
    });
  });
}
