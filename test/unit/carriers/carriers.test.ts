import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { decodeSource } from '@machineadm/document/encodings/decode.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  CARRIERS,
  type CarrierName,
  installedProgram,
  type WrapOptions,
  wrapDocument,
} from '@machineadm/user-data/index.ts';
import { parse } from 'yaml';
import { load } from '../../support/document.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** With what breaks carriers that write text as it is: braces of jinja, leading blanks, CRLF, no line break at the end. */
const DOCUMENT = `# a comment with {{ braces }} and 'quotes' & "more"
apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: node-1}
secrets:
  password: {value: "not for everybody"}
  elsewhere: {file: /run/secrets/other}
host:
  files:
    - {path: /etc/motd, content: " {% raw %}{{ x }}\\r\\nend </Path> ünïcode 🚀"}
    - {path: /etc/secret, contentFrom: {secret: password}}
    - {path: /etc/other, contentFrom: {secret: elsewhere}}`;

const NODE = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: node-1}
kubernetes:
  version: v1.35.2
  role: InitControlPlane
  cluster: {controlPlaneEndpoint: "api.example:6443"}
`;

/** The same for the machines of Windows' carriers. */
const ON_WINDOWS = DOCUMENT.replace('host:\n', 'host:\n  platform: Windows\n');
const documentFor = (format: CarrierName) => (/^(?:cloudbase-init|unattend)$/.test(format) ? ON_WINDOWS : DOCUMENT);

async function wrap(format: CarrierName, more: Partial<WrapOptions> = {}, document = documentFor(format)) {
  const result = await load(document);
  assert.ok(result.ok);
  return await wrapDocument(document, result.document, { format, ...more });
}

async function refused(
  format: CarrierName,
  more: Partial<WrapOptions>,
  reason: string,
  words: RegExp,
  document?: string,
) {
  await assert.rejects(wrap(format, more, document), (error) => {
    assert.ok(error instanceof MachineadmError);
    assert.equal(error.reason, reason);
    assert.match(error.message, words);
    assert.notEqual(error.remedy, '');
    return true;
  });
}

const unpack = (content: string) => gunzipSync(Buffer.from(content, 'base64')).toString('utf8');

/** machineadm-provision.service of packaging/ without its comments. */
const unitOfPackaging = (name: string) =>
  readFileSync(join(ROOT, 'packaging/systemd', name), 'utf8').replace(/^#.*\n/gm, '');

describe('every user-data format', () => {
  for (const format of Object.keys(CARRIERS) as CarrierName[]) {
    test(`${format} is the same for the same document, and warns of the secrets in it`, async () => {
      const first = await wrap(format);
      assert.equal((await wrap(format)).userData, first.userData);
      assert.deepEqual(first.secrets, ['secrets.password'], 'not the one that comes from elsewhere');
      assert.ok(!first.userData.includes('{{'), 'nothing that a template engine would evaluate');
    });

    test(`${format} refuses a path that a shell, YAML or systemd would interpret`, async () => {
      for (const program of ['machineadm', '/opt/x y/m', "/a'b", '/a;reboot', '/a%h', 'C:\\a&b', '/a\nb', '']) {
        await refused(format, { program }, 'UsageInvalid', /--binary/);
      }
    });

    test(`${format} refuses a document for another system`, async () => {
      const other = documentFor(format) === DOCUMENT ? ON_WINDOWS : DOCUMENT;
      await refused(format, {}, 'UnsupportedOnPlatform', /it is for (?:Linux|Windows)/, other);
    });

    test(`${format} includes machineadm, or says that it cannot`, async () => {
      const downloadScript = '#!/bin/sh\nexit 67\n';
      if (CARRIERS[format].fetches !== undefined) {
        assert.notEqual((await wrap(format, { downloadScript })).userData, (await wrap(format)).userData);
        const program = CARRIERS[format].program ?? '';
        await refused(format, { downloadScript, program }, 'UsageInvalid', /--binary is where an image has machineadm/);
      } else await refused(format, { downloadScript }, 'UsageInvalid', /cannot bring machineadm along/);
    });
  }
});

describe('the user data for cloud-init', () => {
  test('is one plain part with one file and one command', async () => {
    const { userData } = await wrap('cloud-init');
    assert.match(userData, /^#cloud-config\n/, 'cloud-init looks at the first line; nothing of jinja is before it');
    const config = parse(userData, { version: '1.1' });
    assert.deepEqual(Object.keys(config), ['write_files', 'runcmd'], 'top-level keys at column 0: CAPD, CAPK');
    const [{ content, ...file }] = config.write_files;
    assert.deepEqual(file, {
      path: '/etc/machineadm/bootstrap.yaml',
      owner: 'root:root',
      permissions: '0600',
      encoding: 'gz+b64',
    });
    assert.equal(unpack(content), DOCUMENT, 'to the byte');
    assert.deepEqual(config.runcmd, ['/usr/local/bin/machineadm provision -d /etc/machineadm/bootstrap.yaml']);
  });

  test('runs the program where the image has it', async () => {
    const { userData } = await wrap('cloud-init', { program: '/opt/bin/machineadm' });
    assert.deepEqual(parse(userData).runcmd, ['/opt/bin/machineadm provision -d /etc/machineadm/bootstrap.yaml']);
  });

  test('starts the program at the path of the machine that runs wrap; a build or a download is not installed', async () => {
    const places = ['/usr/bin/machineadm', '/usr/local/bin/machineadm', '/opt/bin/machineadm', '/usr/sbin/machineadm'];
    assert.deepEqual(places.map(installedProgram), places);
    for (const path of [
      '/home/me/dist/machineadm',
      '/usr/bin/node',
      '/tmp/usr/bin/machineadm',
      'C:\\k\\machineadm.exe',
    ]) {
      assert.equal(installedProgram(path), undefined, path);
    }
    assert.equal((await wrap('cloud-init')).program, '/usr/local/bin/machineadm');
    assert.equal((await wrap('cloud-init', { program: '/usr/bin/machineadm' })).program, '/usr/bin/machineadm');
    assert.equal((await wrap('talos')).program, undefined);
  });

  test('for CAPD holds base64 only, which its shim decodes, and says what CAPD cannot add', async () => {
    const { userData, notes } = await wrap('cloud-init', { profile: 'capd' }, NODE);
    const [file] = parse(userData).write_files;
    assert.equal(file.encoding, 'b64');
    assert.equal(Buffer.from(file.content, 'base64').toString(), NODE);
    assert.match(notes.join('\n'), /ignorePreflightErrors lacks SystemVerification, Swap/);
    assert.match(notes.join('\n'), /kubelet.args lacks fail-swap-on, cgroup-root/);
  });

  test('has no warning about the parts that a document for CAPD may have', async () => {
    const document = `${NODE}  bootstrapper: {kubeadm: {ignorePreflightErrors: [all]}}
  node:
    kubelet:
      config: {failSwapOn: false, cgroupRoot: /kubelet, evictionHard: {nodefs.available: 0%}, imageGCHighThresholdPercent: 100}
      args: [{name: runtime-cgroups, value: /system.slice/containerd.service}]
`;
    assert.doesNotMatch((await wrap('cloud-init', { profile: 'capd' }, document)).notes.join('\n'), /lacks/);
  });

  test('with a download writes the script and the unit that resumes after a reboot, and the script runs machineadm', async () => {
    const downloadScript = "#!/bin/sh\necho 'ünïcode'\n";
    const config = parse((await wrap('cloud-init', { downloadScript })).userData);
    const files = config.write_files.map(({ path, permissions, content }: Record<string, string>) => [
      path,
      permissions,
      unpack(content ?? ''),
    ]);
    assert.deepEqual(files, [
      ['/etc/machineadm/bootstrap.yaml', '0600', DOCUMENT],
      ['/etc/machineadm/download.sh', '0700', downloadScript],
      [
        '/etc/systemd/system/machineadm-resume.service',
        '0644',
        unitOfPackaging('machineadm-resume.service').replace(
          '/usr/local/bin/machineadm',
          '/bin/sh /etc/machineadm/download.sh',
        ),
      ],
    ]);
    assert.deepEqual(config.runcmd, [
      'systemctl enable -q machineadm-resume.service; /bin/sh /etc/machineadm/download.sh provision -d /etc/machineadm/bootstrap.yaml',
    ]);
  });
});

describe('the user data for Ignition', () => {
  test('writes the document for root alone, compressed, with its digest, and the unit of packaging/', async () => {
    const config = JSON.parse((await wrap('ignition')).userData);
    assert.equal(config.ignition.version, '3.3.0');
    assert.deepEqual(config.storage.directories, [{ path: '/etc/machineadm', mode: 0o700 }]);
    const [{ contents, ...file }] = config.storage.files;
    assert.deepEqual(file, { path: '/etc/machineadm/bootstrap.yaml', mode: 0o600, overwrite: true });
    assert.equal(contents.compression, 'gzip');
    assert.equal(unpack(contents.source.slice('data:;base64,'.length)), DOCUMENT);
    assert.equal(contents.verification.hash, `sha512-${createHash('sha512').update(DOCUMENT).digest('hex')}`);
    const [unit] = config.systemd.units;
    assert.deepEqual([unit.name, unit.enabled], ['machineadm-provision.service', true]);
    assert.equal(
      unit.contents.replace('Restart=on-abnormal\nRestartSec=5s\n', ''),
      unitOfPackaging('machineadm-provision.service'),
    );
  });

  test('has the requested version, and no other difference', async () => {
    const plain = (await wrap('ignition')).userData;
    const old = (await wrap('ignition', { ignitionVersion: '3.0.0' })).userData;
    assert.equal(old, plain.replace('"version":"3.3.0"', '"version":"3.0.0"'));
    await refused('cloud-init', { ignitionVersion: '3.0.0' }, 'UsageInvalid', /Ignition/);
  });

  test('with a download writes the script, and the unit runs it through a shell', async () => {
    const downloadScript = '#!/bin/sh\nexit 67\n';
    const config = JSON.parse((await wrap('ignition', { downloadScript })).userData);
    const [, script] = config.storage.files;
    assert.deepEqual([script.path, script.mode], ['/etc/machineadm/download.sh', 0o700]);
    assert.equal(unpack(script.contents.source.slice('data:;base64,'.length)), downloadScript);
    const run = 'ExecStart=/bin/sh /etc/machineadm/download.sh provision --boot -d /etc/machineadm/bootstrap.yaml\n';
    assert.ok(config.systemd.units[0].contents.includes(run));
  });
});

describe('the user data for cloudbase-init', () => {
  test('has only keys that cloudbase-init supports', async () => {
    const { userData } = await wrap('cloudbase-init');
    assert.match(userData, /^#cloud-config\n/);
    const config = parse(userData);
    assert.deepEqual(Object.keys(config), ['write_files', 'runcmd']);
    const [{ content, ...file }] = config.write_files;
    const path = 'C:\\ProgramData\\machineadm\\bootstrap.yaml';
    assert.deepEqual(file, { path, permissions: '0600', encoding: 'gz+b64' });
    assert.equal(unpack(content), ON_WINDOWS);
    assert.equal(config.runcmd.length, 1);
    assert.match(
      config.runcmd[0],
      /^icacls\.exe C:\\ProgramData\\machineadm \/inheritance:r .*& C:\\k\\machineadm\.exe provision -d /,
    );
    assert.ok(
      config.runcmd[0].endsWith(`${path} --exit-codes=cloudbase-init`),
      "machineadm is last: its exit status is the batch file's",
    );
  });

  test('with a download writes the script next to the document, and PowerShell runs it', async () => {
    const downloadScript = "Write-Output 'a'\n";
    const { write_files: files, runcmd } = parse((await wrap('cloudbase-init', { downloadScript })).userData);
    const [, { content, ...script }] = files;
    assert.deepEqual(script, {
      path: 'C:\\ProgramData\\machineadm\\download.ps1',
      permissions: '0600',
      encoding: 'gz+b64',
    });
    assert.equal(unpack(content), downloadScript);
    assert.equal(runcmd.length, 1);
    const [closed, run] = runcmd[0].split(' >nul & ');
    assert.match(closed, /^icacls\.exe C:\\ProgramData\\machineadm .* \/T$/, 'nobody swaps the script before it runs');
    assert.equal(
      run,
      'powershell.exe -nop -ep Bypass -f C:\\ProgramData\\machineadm\\download.ps1 provision -d C:\\ProgramData\\machineadm\\bootstrap.yaml --exit-codes=cloudbase-init',
    );
    assert.ok(runcmd[0].length < 8191, 'what cmd takes of a line');
  });

  test('is refused for a provider without Windows', () =>
    refused('cloudbase-init', { profile: 'capmox' }, 'UsageInvalid', /capmox does not hand on cloudbase-init/));
});

describe('the answer file', () => {
  const commandsOf = (xml: string) =>
    [...xml.matchAll(/<Path>([^<]*)<\/Path>/g)].map(([, path = '']) =>
      path.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
    );

  /** What the commands leave in a file, as cmd's echo writes it. */
  function laid(commands: readonly string[], path: string): string {
    const start = `cmd.exe /c "`;
    const lines = commands.flatMap((command) => {
      const [, redirection = '', to, piece] =
        /^(>>?)(\S+) echo (\S+)\|\| exit 3"$/.exec(command.slice(start.length)) ?? [];
      return to === path ? [{ redirection, piece }] : [];
    });
    assert.ok(lines.length > 1);
    const expected = lines.map((_, index) => (index === 0 ? '>' : '>>'));
    assert.deepEqual(
      lines.map(({ redirection }) => redirection),
      expected,
      'a second run of Setup begins anew',
    );
    return lines.map(({ piece }) => `${piece}\r\n`).join('');
  }

  const DIRECTORY = 'C:\\ProgramData\\machineadm';

  test('writes the document piece by piece, and machineadm reads the result', async () => {
    const text = laid(commandsOf((await wrap('unattend')).userData), `${DIRECTORY}\\bootstrap.yaml`);
    assert.equal(await decodeSource('laid', Buffer.from(text)), ON_WINDOWS);
  });

  test('with a download also writes the script, decodes it, and the task runs it', async () => {
    const downloadScript = `# ${'x'.repeat(700)}\nexit 67\n`;
    const commands = commandsOf((await wrap('unattend', { downloadScript })).userData);
    const encoded = laid(commands, `${DIRECTORY}\\download.ps1.base64`);
    assert.equal(Buffer.from(encoded, 'base64').toString(), downloadScript);
    const [decode = '', task = ''] = commands.slice(-2);
    assert.equal(
      decode,
      `cmd.exe /c "certutil.exe -f -decode ${DIRECTORY}\\download.ps1.base64 ${DIRECTORY}\\download.ps1 || exit 3"`,
    );
    const [, run = ''] = /\/TR "(.*)" && exit 1/.exec(task) ?? [];
    assert.equal(
      run,
      `powershell.exe -nop -ep Bypass -f ${DIRECTORY}\\download.ps1 provision -d ${DIRECTORY}\\bootstrap.yaml`,
    );
    assert.ok(run.length <= 261, 'what schtasks takes');
    for (const command of commands) assert.ok(command.length <= 259, `${command.length}: ${command}`);
  });

  test('keeps to the limits of Windows Setup, and to its exit codes', async () => {
    const { userData } = await wrap('unattend');
    const commands = commandsOf(userData);
    for (const command of commands) {
      assert.ok(command.length <= 259, `${command.length}: ${command}`);
      assert.match(command, /^cmd\.exe \/c ".*\|\| exit 3"$/, 'a failure must not be 1 or 2: that would be a reboot');
    }
    assert.match(commands.at(-1) ?? '', /schtasks\.exe .* && exit 1 \|\| exit 3"$/, '1: reboot, then go on');
    const reboots = [...userData.matchAll(/<WillReboot>(\w+)</g)].map(([, value]) => value);
    assert.deepEqual(reboots, [...commands.slice(1).map(() => 'Never'), 'OnRequest']);
  });

  test('refuses a document for which 500 commands are not enough', async () => {
    const noise = createHash('shake256', { outputLength: 90_000 }).update('noise').digest('base64');
    const document = `${ON_WINDOWS}\n    - {path: /etc/noise, content: "${noise}"}`;
    await refused('unattend', {}, 'UserDataTooLarge', /500 commands of 259 characters/, document);
  });
});

describe('the user data for Talos', () => {
  test('is the configuration of an extension service, whose file machineadm reads', async () => {
    const config = parse((await wrap('talos')).userData);
    assert.deepEqual([config.kind, config.name], ['ExtensionServiceConfig', 'machineadm']);
    const [{ content, mountPath }] = config.configFiles;
    assert.equal(mountPath, '/etc/machineadm/bootstrap.yaml');
    assert.equal(await decodeSource('mounted', Buffer.from(content)), DOCUMENT);
  });

  test('is for the service of packaging/talos, which Talos takes', async () => {
    const { name, configFiles } = parse((await wrap('talos')).userData);
    const service = parse(readFileSync(join(ROOT, 'packaging/talos/machineadm.yaml'), 'utf8'));
    assert.equal(service.name, name);
    assert.deepEqual(service.container.args, ['provision', '-d', configFiles[0].mountPath]);
    // siderolabs/talos pkg/machinery/extensions/services/services.go, Validate: one condition each.
    for (const condition of service.depends) assert.equal(Object.keys(condition).length, 1, JSON.stringify(condition));
    assert.ok(
      service.depends.some((one: object) => 'configuration' in one),
      'not before the document is there',
    );
    assert.ok(['always', 'never', 'untilSuccess'].includes(service.restart));
  });

  test('refuses a document that asks for a node', () =>
    refused('talos', {}, 'UnsupportedOnPlatform', /no "kubernetes" section/, NODE));
});

describe('the script', () => {
  /** The script with its places below a directory, and a program that shows what it was started with. */
  async function run(directory: string, change: (text: string) => string = (text) => text) {
    const { userData } = await wrap('script', { program: '/usr/bin/printf' });
    const text = change(userData.replaceAll('/etc/machineadm', `${directory}/etc`));
    const { status, stdout } = spawnSync('sh', ['-s'], { input: text, encoding: 'utf8' });
    return { status, stdout };
  }

  test('writes the document for its owner alone, whatever the umask, and becomes machineadm', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-script-'));
    try {
      const { status, stdout } = await run(directory);
      assert.deepEqual([status, stdout], [0, 'provision']);
      assert.equal(readFileSync(`${directory}/etc/bootstrap.yaml`, 'utf8'), DOCUMENT);
      assert.equal(statSync(`${directory}/etc/bootstrap.yaml`).mode & 0o777, 0o600);
      assert.equal(statSync(`${directory}/etc`).mode & 0o777, 0o700);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('with a download becomes the script that installs machineadm', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-script-'));
    try {
      const { userData } = await wrap('script', { downloadScript: '#!/bin/sh\necho "$@"\nexit 67\n' });
      const input = userData.replaceAll('/etc/machineadm', `${directory}/etc`);
      const { status, stdout } = spawnSync('sh', ['-s'], { input, encoding: 'utf8' });
      assert.deepEqual([status, stdout], [67, `provision -d ${directory}/etc/bootstrap.yaml\n`]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('runs nothing and writes nothing where a part of it is missing', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-script-'));
    try {
      const cut = await run(directory, (text) => text.slice(0, text.indexOf('END\nmv') - 40));
      assert.notEqual(cut.status, 0);
      assert.equal(cut.stdout, '');
      const holed = await run(directory, (text) => text.replace(/\n[A-Za-z0-9+/]{76}\n/, '\n'));
      assert.notEqual(holed.status, 0);
      assert.equal(holed.stdout, '');
      assert.equal(statSync(`${directory}/etc/bootstrap.yaml`, { throwIfNoEntry: false }), undefined);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
