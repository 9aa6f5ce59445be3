import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { PRIVATE_FILES } from '../../../src/host/seam/queries.ts';
import { sourcesOf } from '../../../src/pipeline/change-source.ts';
import { newJournalState } from '../../../src/pipeline/journal.ts';
import { stepsFor } from '../../../src/pipeline/pipeline.ts';
import { planSteps } from '../../../src/pipeline/plan.ts';
import { findingsOf, type PreflightScope, refusalFor, requirements } from '../../../src/pipeline/preflight.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { loaded } from '../../support/document.ts';
import { facts } from '../../support/facts.ts';
import { type MemoryMachine, type MemoryProgram, memoryHost, queryOnly } from '../../support/memory-host.ts';
import { identity } from '../pipeline/records.ts';

const KUBERNETES = { major: 1, minor: 35, patch: 2, text: 'v1.35.2' };
const NODE = { kubeadm: KUBERNETES, kubelet: KUBERNETES };

/** What the preflight of a whole document finds on a machine, which is as it was afterwards. */
async function preflightOf(yaml: string, machine: MemoryMachine = {}, done: readonly string[] = [], isRun = false) {
  const document = await loaded(yaml);
  const host = memoryHost(machine);
  const asked: PreflightScope = {
    host: isRun ? host : queryOnly(host),
    model: document.model,
    facts: facts(NODE),
    scope: 'all',
    record: (step) => ({ ...EMPTY_RECORD, done: new Set(done.includes(step) ? [`${step}/run`] : []) }),
    source: sourcesOf(document),
  };
  const found = await requirements(stepsFor('all', 'linux'), asked);
  assert.deepEqual(host.log, []);
  return { ...found, host };
}

type Found = Awaited<ReturnType<typeof preflightOf>>;

/** Step, reason and place of everything that refuses a run; and that it does, with its exit code. */
function refused(found: Found): readonly string[] {
  if (found.unmet.length > 0) {
    const error = refusalFor(found.unmet);
    assert.ok(error instanceof MachineadmError);
    assert.equal(exitCode(error.exit), 4);
    for (const { missing } of found.unmet) assert.ok(missing.remedy !== '' && error.message.includes(missing.what));
  }
  return found.unmet.map(({ step, missing, source }) => {
    const { file, line } = source?.position ?? { file: '', line: 0 };
    return `${step.id} ${missing.reason} ${source?.field} ${file}:${line}`;
  });
}

function told(found: Found): readonly string[] {
  const { unmet: _unmet, ...others } = found;
  return findingsOf({ ...others, unmet: [] }).map(({ severity, text }) => `${severity}: ${text}`);
}

const answer =
  (status: number, stderr = ''): MemoryProgram =>
  () => ({ status, stderr });

describe('kernel settings', () => {
  const yaml = 'host:\n  sysctl:\n    vm.swappiness: "10"\n    vm.no_such_key: "1"\n';

  test('that the kernel does not have, and that no module of the document brings, refuse the run', async () => {
    const kernelFiles = { '/proc/sys/vm/swappiness': '60' };
    const found = await preflightOf(yaml, { kernelFiles });
    assert.deepEqual(refused(found), ['sysctl SysctlUnknown host.sysctl["vm.no_such_key"] doc.yaml:7']);
    const both = { ...kernelFiles, '/proc/sys/vm/no_such_key': '0' };
    assert.deepEqual(refused(await preflightOf(yaml, { kernelFiles: both })), []);
  });

  test('of a module are there once the document loads it', async () => {
    const bridge = 'host: {sysctl: {net.bridge.bridge-nf-call-iptables: "1"}';
    const loading = `${bridge}, kernelModules: [br_netfilter]}\n`;
    const programs = { modprobe: answer(0) };
    assert.deepEqual(refused(await preflightOf(loading, { programs })), []);
    const alone = await preflightOf(`${bridge}}\n`, { programs });
    assert.deepEqual(
      alone.unmet.map(({ missing }) => missing.reason),
      ['SysctlUnknown'],
    );
    assert.match(alone.unmet[0]?.missing.remedy ?? '', /^Add br_netfilter to host\.kernelModules/);
  });

  test('that a module of unknown keys may bring are not checked, until it is loaded', async () => {
    const loading = 'host: {sysctl: {abc.def: "1"}, kernelModules: [abc]}\n';
    const found = await preflightOf(loading, { programs: { modprobe: answer(0) } });
    assert.deepEqual(
      [refused(found), told(found)],
      [[], ['skipped: abc.def: not checked: a module that is loaded first may bring it (abc)']],
    );
    const loadedAlready = { kernelFiles: { '/sys/module/abc': '' } };
    assert.deepEqual(
      (await preflightOf(loading, loadedAlready)).unmet.map(({ missing }) => missing.reason),
      ['SysctlUnknown'],
    );
  });

  test('may come with early hooks, which is a warning; the rest of the step is planned all the same', async () => {
    const found = await preflightOf(`${yaml}  hooks: {early: {commands: ["true"]}}\n`, { programs: { sh: answer(0) } });
    assert.deepEqual(refused(found), []);
    assert.deepEqual(
      found.awaited.map(({ missing, after }) => [missing.change, after.id]),
      [
        ['sysctl/vm/swappiness', 'hooks-early'],
        ['sysctl/vm/no_such_key', 'hooks-early'],
      ],
    );
  });

  test('that early hooks may bring are planned as known after them, and the rest of the step as it is', async () => {
    const document = await loaded(`${yaml}  hooks: {early: {commands: ["true"]}}\n`);
    const kernelFiles = { '/proc/sys/vm/swappiness': '60' };
    const { awaited, unmet, host } = await preflightOf(`${yaml}  hooks: {early: {commands: ["true"]}}\n`, {
      kernelFiles,
      programs: { sh: answer(0) },
    });
    const { model } = document;
    const journal = newJournalState(identity(), false);
    const options = { model, facts: facts(NODE), host, journal, scope: 'all', awaited, unmet } as const;
    const { changes } = await planSteps(stepsFor('all', 'linux'), options);
    assert.deepEqual(
      changes.filter(({ step }) => step === 'sysctl').map(({ id, knownAfter }) => [id, knownAfter]),
      [
        ['sysctl/file', undefined],
        ['sysctl/vm/swappiness', undefined],
        ['sysctl/vm/no_such_key', 'hooks-early'],
      ],
    );
  });
});

describe('kernel modules', () => {
  const yaml = 'host:\n  kernelModules:\n  - overlay\n  - nosuch\n';
  const kernelFiles = { '/sys/module/overlay': '' };

  test('that modprobe does not find refuse the run', async () => {
    const modprobe: MemoryProgram = ({ args }) => ({
      status: args.includes('nosuch') ? 1 : 0,
      stderr: 'modprobe: FATAL: Module nosuch not found in directory /lib/modules/6.1.0\n',
    });
    const found = await preflightOf(yaml, { kernelFiles, programs: { modprobe } });
    assert.deepEqual(refused(found), ['kernel-modules ModuleMissing host.kernelModules[1] doc.yaml:7']);
    assert.match(found.unmet[0]?.missing.evidence?.[0]?.text ?? '', /not found in directory/);
    assert.deepEqual(refused(await preflightOf(yaml, { kernelFiles, programs: { modprobe: answer(0) } })), []);
  });

  test('that are denied, or that nothing could load, refuse it, too', async () => {
    const modprobe: MemoryProgram = () => ({ stdout: 'install nosuch /bin/false\n' });
    const denied = await preflightOf(yaml, { kernelFiles, programs: { modprobe } });
    assert.deepEqual(
      denied.unmet.map(({ missing }) => missing.reason),
      ['ModuleDenied'],
    );
    const none = await preflightOf(yaml, { kernelFiles });
    assert.match(none.unmet[0]?.missing.what ?? '', /modprobe is not installed/);
  });

  test('that are loaded or built in are not asked for', async () => {
    const builtIn = { '/proc/sys/kernel/osrelease': '6.1.0\n', '/sys/module/overlay': '' };
    const files = { '/lib/modules/6.1.0/modules.builtin': 'kernel/x/nosuch.ko\n' };
    assert.deepEqual(refused(await preflightOf(yaml, { kernelFiles: builtIn, files })), []);
  });
});

describe('hooks', () => {
  const yaml = 'host:\n  hooks:\n    early:\n      commands:\n      - echo ok\n      - "if true; then echo pa55word"\n';
  const sh: MemoryProgram = ({ input }) =>
    typeof input === 'string' && input.includes('fi\n')
      ? {}
      : input === 'echo ok\n'
        ? {}
        : { status: 2, stderr: 'sh: 2: Syntax error: "pa55word" unexpected (expecting "fi")\n' };

  test('that their shell does not understand refuse the run, and no word of them is shown', async () => {
    const found = await preflightOf(yaml, { programs: { sh } });
    assert.deepEqual(refused(found), ['hooks-early HookSyntaxInvalid host.hooks.early.commands[1] doc.yaml:9']);
    const [{ missing } = { missing: undefined }] = found.unmet;
    assert.match(missing?.what ?? '', /in its line 2: syntax error: a word unexpected \(expecting "fi"\)$/);
    assert.doesNotMatch(JSON.stringify(missing), /pa55word/);
    assert.ok(found.host.queries.every((one) => one === 'sh -n'));
    assert.deepEqual(refused(await preflightOf(yaml.replace('pa55word', 'x; fi'), { programs: { sh } })), []);
  });

  test('that ran already are not asked about: they do not run again', async () => {
    assert.deepEqual(refused(await preflightOf(yaml, { programs: { sh } }, ['hooks-early'])), []);
  });

  test('of every boot are asked about each time', async () => {
    const always = await preflightOf(`${yaml}      frequency: Always\n`, { programs: { sh } }, ['hooks-early']);
    assert.deepEqual(
      always.unmet.map(({ missing }) => missing.reason),
      ['HookSyntaxInvalid'],
    );
  });

  test('are reported with the message of each shell', async () => {
    const words: Readonly<Record<string, string>> = {
      'sh: 3: Syntax error: end of file unexpected (expecting "fi")\n':
        ' in its line 3: syntax error: end of file unexpected (expecting "fi")',
      "bash: line 1: unexpected EOF while looking for matching `)'\n":
        " in its line 1: syntax error: unexpected EOF while looking for matching `)'",
      "sh: line 2: syntax error near unexpected token `pa55word'\nsh: line 2: `fi pa55word'\n":
        ' in its line 2: syntax error: near unexpected token a word',
      'sh: syntax error: unterminated quoted string\n': ': syntax error: unterminated quoted string',
    };
    for (const [stderr, told] of Object.entries(words)) {
      const found = await preflightOf(yaml, { programs: { sh: answer(2, stderr) } });
      assert.equal(found.unmet[0]?.missing.what, `sh does not understand host.hooks.early.commands[1]${told}`);
    }
  });

  test('whose failures the document lets pass, or that end before, are a warning', async () => {
    const passing = await preflightOf(`${yaml}      onError: Continue\n`, { programs: { sh } });
    assert.deepEqual([refused(passing), told(passing).length], [[], 1]);
    const ending = await preflightOf(yaml.replace('if true; then', 'exit 0\\nfi'), { programs: { sh } });
    assert.deepEqual([refused(ending), told(ending).length], [[], 1]);
  });

  test('of bash may set extglob themselves', async () => {
    const bash: MemoryProgram = ({ args }) => ({
      status: args.includes('extglob') ? 0 : 2,
      stderr: 'line 1: syntax error',
    });
    const globbing = 'host: {hooks: {early: {shell: bash, commands: ["shopt -s extglob; echo !(x)"]}}}\n';
    assert.deepEqual(refused(await preflightOf(globbing, { programs: { bash } })), []);
  });
});

describe('files of sudo', () => {
  const yaml = 'host:\n  files:\n  - {path: /etc/sudoers.d/ops, content: "ops ALL=(ALL) pa55word\\n"}\n';

  test('that visudo refuses refuse the run', async () => {
    const programs = { visudo: answer(1, 'stdin:1:15: syntax error\nops ALL=(ALL) pa55word\n') };
    const found = await preflightOf(yaml, { programs });
    assert.deepEqual(refused(found), ['files SudoersInvalid host.files[0].path doc.yaml:6']);
    assert.doesNotMatch(JSON.stringify([found.unmet, found.host.queries]), /pa55word/);
    assert.deepEqual(refused(await preflightOf(yaml, { programs: { visudo: answer(0) } })), []);
  });

  test('are not checked without visudo, which is a note', async () => {
    const found = await preflightOf(yaml);
    assert.deepEqual([refused(found), told(found)], [[], ['skipped: /etc/sudoers.d/ops: not checked: no visudo']]);
  });

  test('are refused while early hooks are to run: none can help', async () => {
    const programs = { visudo: answer(1, 'stdin:1:15: syntax error\n'), sh: answer(0) };
    const found = await preflightOf(`${yaml}  hooks: {early: {commands: ["true"]}}\n`, { programs });
    assert.deepEqual(
      found.unmet.map(({ missing }) => missing.reason),
      ['SudoersInvalid'],
    );
  });

  test('with a dot in their names are ignored by sudo, which is a warning', async () => {
    const found = await preflightOf(yaml.replace('/ops', '/ops.conf'), { programs: { visudo: answer(1) } });
    assert.deepEqual(refused(found), []);
    assert.match(told(found).join(), /^warning: sudo ignores \/etc\/sudoers\.d\/ops\.conf/);
  });

  test('with content that only the run knows are not checked', async () => {
    const secret = 'secrets: {rules: {exec: {command: ["/bin/x"]}}}\n';
    const from = 'host: {files: [{path: /etc/sudoers.d/ops, contentFrom: {secret: rules}}]}\n';
    const found = await preflightOf(`${secret}${from}`, { programs: { visudo: answer(1) } });
    assert.deepEqual(
      [refused(found), told(found)],
      [
        ['files SecretUnavailable secrets.rules doc.yaml:4'],
        ['skipped: /etc/sudoers.d/ops: not checked: its content is not known before the run'],
      ],
    );
    // A program that exists is not started before the run.
    const there = await preflightOf(`${secret}${from}`, {
      files: { '/bin/x': 'program' },
      programs: { visudo: answer(1) },
    });
    assert.deepEqual(refused(there), []);
  });
});

describe('the configuration of sshd', () => {
  const yaml = 'host:\n  files:\n  - {path: /etc/ssh/sshd_config.d/10.conf, content: "PermitRoot no\\n"}\n';
  const files = {
    '/etc/ssh/sshd_config': 'Include /etc/ssh/sshd_config.d/*.conf\nPort 22\n',
    '/etc/ssh/sshd_config.d/05.conf': 'X11Forwarding no\n',
  };

  test('is checked whole, with what it includes, on copies; what sshd refuses refuses the run', async () => {
    let seen: Readonly<Record<string, string>> = {};
    const sshd: MemoryProgram = (command) => {
      seen = command.files ?? {};
      return { status: 255, stderr: '/etc/ssh/sshd_config.d/10.conf: line 1: Bad configuration option: PermitRoot\n' };
    };
    const found = await preflightOf(yaml, { files, programs: { sshd } });
    assert.deepEqual(refused(found), ['files SSHConfigurationInvalid host.files[0].path doc.yaml:6']);
    assert.deepEqual(seen, {
      '/etc/ssh/sshd_config': `Include "${PRIVATE_FILES}/etc/ssh/sshd_config.d/*.conf"\nPort 22\n`,
      '/etc/ssh/sshd_config.d/05.conf': 'X11Forwarding no\n',
      '/etc/ssh/sshd_config.d/10.conf': 'PermitRoot no\n',
    });
    assert.deepEqual(found.host.queries, [`/usr/bin/sshd -t -f ${PRIVATE_FILES}/etc/ssh/sshd_config`]);
    assert.deepEqual(refused(await preflightOf(yaml, { files, programs: { sshd: answer(0) } })), []);
  });

  for (const [what, said] of [
    ['host key', 'sshd: no hostkeys available -- exiting.\n'],
    ['directory of sshd', 'Missing privilege separation directory: /run/sshd\n'],
    ['user of sshd', 'Privilege separation user sshd does not exist\n'],
  ] as const) {
    test(`is in order where only the ${what} is missing, which the package or a boot makes`, async () => {
      const sshd = answer(255, said);
      assert.deepEqual(refused(await preflightOf(yaml, { files, programs: { sshd } })), []);
    });
  }

  test('is not checked without sshd, or without its main file, which is a note', async () => {
    const note = 'skipped: /etc/ssh/sshd_config.d/10.conf: not checked: no';
    assert.deepEqual(told(await preflightOf(yaml, { files })), [`${note} sshd`]);
    assert.deepEqual(told(await preflightOf(yaml, { programs: { sshd: answer(0) } })), [
      `${note} /etc/ssh/sshd_config`,
    ]);
  });

  test('that no Include names is a warning', async () => {
    const alone = { '/etc/ssh/sshd_config': 'Port 22\n' };
    const found = await preflightOf(yaml, { files: alone, programs: { sshd: answer(0) } });
    assert.match(told(found).join(), /^warning: sshd does not read \/etc\/ssh\/sshd_config\.d\/10\.conf: no Include/);
  });
});

describe('units', () => {
  const PATH = '/etc/systemd/system/demo.service';
  const yaml = `host:\n  files:\n  - {path: ${PATH}, content: "[Service]\\nExecStart=bin/x\\n"}\n`;
  const said = (stderr: string, status = 1) => ({ programs: { 'systemd-analyze': answer(status, stderr) } });

  test('that systemd would not load refuse the run', async () => {
    const found = await preflightOf(
      yaml,
      said(
        '/units/demo.service:2: Neither a valid executable name nor an absolute path: bin/x\n' +
          'demo.service: Unit configuration has fatal error, unit will not be started.\n' +
          'Unit demo.service has a bad unit file setting.\n',
      ),
    );
    assert.deepEqual(refused(found), ['files UnitFileInvalid host.files[0].path doc.yaml:6']);
    assert.match(found.unmet[0]?.missing.what ?? '', /line 2: Neither a valid executable name/);
    assert.deepEqual(found.host.queries, [`systemd-analyze verify --man=no ${PRIVATE_FILES}/units/demo.service`]);
  });

  test('of which systemd ignores a line are a warning', async () => {
    const found = await preflightOf(
      yaml,
      said("/units/demo.service:2: Unknown key 'Typ' in section [Service], ignoring.\n", 0),
    );
    assert.deepEqual([refused(found), told(found).length], [[], 1]);
  });

  test('may start what comes with this run', async () => {
    const found = await preflightOf(
      yaml,
      said('demo.service: Command /opt/x is not executable: No such file or directory\n'),
    );
    assert.deepEqual([refused(found), told(found)], [[], []]);
  });

  test('are not checked without systemd-analyze, which is a note', async () => {
    assert.deepEqual(told(await preflightOf(yaml)), [`skipped: ${PATH}: not checked: no systemd-analyze`]);
  });

  test('get their drop-ins of services checked, on the unit that is there or is laid', async () => {
    const dropIn = 'host: {services: [{name: demo, dropIns: [{name: 10.conf, content: "[Service]\\nFoo=1\\n"}]}]}\n';
    const stderr = "/units/demo.service.d/10.conf:2: Unknown key 'Foo' in section [Service], ignoring.\n";
    const machine = { ...said(stderr, 0), services: { demo: {} } };
    const there = await preflightOf(dropIn, { ...machine, files: { [PATH]: '[Service]\nExecStart=/bin/true\n' } });
    assert.match(told(there).join(), /^warning: systemd ignores a part of .*demo\.service\.d\/10\.conf: line 2/);
    assert.match(
      told(await preflightOf(dropIn, machine)).join(),
      /10\.conf: not checked: its unit is not installed yet$/,
    );
  });
});

describe('files below files', () => {
  test('refuse the run', async () => {
    const yaml = 'host:\n  files:\n  - {path: /opt/a/b, content: x}\n';
    const found = await preflightOf(yaml, { files: { '/opt/a': 'a file' } });
    assert.deepEqual(refused(found), ['files FileNotWritten host.files[0].path doc.yaml:6']);
    assert.deepEqual(refused(await preflightOf(yaml)), []);
  });
});

describe('files that arguments of components name', () => {
  const yaml = (args: string, more = '') => `kubernetes:\n  version: v1.35.2\n  role: InitControlPlane\n${args}${more}`;
  const kubelet = '  node: {kubelet: {args: [{name: image-credential-provider-config, value: /etc/azure.json}]}}\n';
  const paths = (found: Found) =>
    found.unmet.filter(({ missing }) => missing.reason === 'ComponentFileMissing').map(({ source }) => source?.field);

  test('refuse the run where they are not there and nothing writes them', async () => {
    assert.deepEqual(paths(await preflightOf(yaml(kubelet))), ['kubernetes.node.kubelet.args']);
    assert.deepEqual(paths(await preflightOf(yaml(kubelet), { files: { '/etc/azure.json': '{}' } })), []);
    const written = yaml(kubelet, 'host: {files: [{path: /etc/azure.json, content: "{}"}]}\n');
    assert.deepEqual(paths(await preflightOf(written)), []);
  });

  test('of the control plane are looked for where its volumes have them', async () => {
    const args = 'args: [{name: cloud-config, value: /cloud/azure.json}]';
    const volumes = 'volumes: [{name: cloud, hostPath: /etc/cloud, mountPath: /cloud}]';
    const controlPlane = (content: string) => yaml(`  controlPlane: {controllerManager: {${content}}}\n`);
    const unmounted = await preflightOf(controlPlane(args));
    assert.deepEqual(paths(unmounted), ['kubernetes.controlPlane.controllerManager.args']);
    assert.ok(
      refusalFor(unmounted.unmet).evidence.some(({ text }) => text.includes('which no volume of the component has')),
    );
    const mounted = controlPlane(`${args}, ${volumes}`);
    assert.deepEqual(paths(await preflightOf(mounted)), ['kubernetes.controlPlane.controllerManager.args']);
    assert.deepEqual(paths(await preflightOf(mounted, { files: { '/etc/cloud/azure.json': '{}' } })), []);
  });

  test('may come with hooks before the bootstrap', async () => {
    const hooks = 'host: {hooks: {beforeBootstrap: {commands: ["true"]}}}\n';
    const found = await preflightOf(yaml(kubelet, hooks), { programs: { sh: answer(0) } });
    assert.deepEqual(paths(found), []);
    assert.ok(found.awaited.some(({ missing }) => missing.reason === 'ComponentFileMissing'));
  });
});

test('everything is found together, by plan, doctor and a run alike', async () => {
  const yaml =
    'host:\n  sysctl: {net.bridge.bridge-nf-call-iptables: "1"}\n  kernelModules: [nosuch]\n' +
    '  files:\n  - {path: /etc/sudoers.d/ops, content: "ops\\n"}\n  hooks: {afterBootstrap: {commands: ["fi"]}}\n';
  const sh = answer(2, 'sh: 1: Syntax error: "fi" unexpected\n');
  const found = await preflightOf(yaml, {
    programs: { sh, visudo: answer(1, 'stdin:1:4: syntax error\n'), modprobe: answer(1) },
  });
  const reasons = found.unmet.map(({ missing }) => missing.reason);
  assert.deepEqual(reasons.toSorted(), ['HookSyntaxInvalid', 'ModuleMissing', 'SudoersInvalid', 'SysctlUnknown']);
  assert.equal(refusalFor(found.unmet).reason, 'PreflightFailed');
  assert.deepEqual(
    findingsOf(found)
      .flatMap(({ id, severity }) => (severity === 'failed' ? [id] : []))
      .toSorted(),
    reasons.map((reason) => `document/${reason}`).toSorted(),
  );
});

describe('a secret', () => {
  const secret = 'secrets: {pw: {file: /run/secrets/pw}}\n';
  const users = `${secret}host: {users: [{name: ada, locked: false, passwordHash: {secret: pw}}]}\n`;
  const programs = Object.fromEntries(['useradd', 'usermod', 'chpasswd', 'groupadd'].map((name) => [name, answer(0)]));

  test('that cannot be read refuses the run before its first change, with its place', async () => {
    assert.deepEqual(refused(await preflightOf(users, { programs })), [
      'users SecretUnavailable secrets.pw doc.yaml:4',
    ]);
    const there = await preflightOf(users, { programs, files: { '/run/secrets/pw': '$6$salt$hash\n' } });
    assert.deepEqual(refused(there), []);
  });

  test('of several steps is one problem', async () => {
    const file = `${users.trimEnd().slice(0, -1)}, files: [{path: /opt/pw, contentFrom: {secret: pw}}]}\n`;
    assert.equal(refused(await preflightOf(file, { programs })).length, 1);
  });

  test('that early hooks may still bring refuses nothing, and is checked again after them', async () => {
    const found = await preflightOf(`${users.trimEnd().slice(0, -1)}, hooks: {early: {commands: ["true"]}}}\n`, {
      programs: { ...programs, sh: answer(0) },
    });
    assert.deepEqual(refused(found), []);
    assert.match(told(found).join(), /secrets\.pw is not there; checked again after hooks-early/);
  });

  test('that a file of the document holds is known after it, and not if the step comes before', async () => {
    const written = 'files: [{path: /run/secrets/pw, content: x}]';
    const before = await preflightOf(`${users.trimEnd().slice(0, -1)}, ${written}}\n`, { programs });
    assert.deepEqual(refused(before), ['users SecretUnavailable secrets.pw doc.yaml:4']);
    const hooks = `${secret}host: {${written}, hooks: {beforeBootstrap: {commands: ["true"], secrets: {PW: {secret: pw}}}}}\n`;
    const after = await preflightOf(hooks, { programs: { sh: answer(0) } });
    assert.deepEqual(refused(after), []);
    assert.match(told(after).join(), /checked again after files/);
  });

  test('that was used, and that nothing needs again, may be gone', async () => {
    const hooks = `${secret}host: {hooks: {early: {commands: ["true"], secrets: {PW: {secret: pw}}}}}\n`;
    const machine = { programs: { sh: answer(0) } };
    assert.deepEqual(refused(await preflightOf(hooks, machine)), [
      'hooks-early SecretUnavailable secrets.pw doc.yaml:4',
    ]);
    assert.deepEqual(refused(await preflightOf(hooks, machine, ['hooks-early'])), []);
  });

  test('behind a server is not asked for; a program that does not exist is reported', async () => {
    const from = (source: string) =>
      `secrets: {pw: ${source}}\nhost: {files: [{path: /opt/pw, contentFrom: {secret: pw}}]}\n`;
    // The host of a run would resolve it, and does not before the first change.
    for (const isRun of [false, true])
      assert.deepEqual(refused(await preflightOf(from('{http: {url: "https://example.com/x"}}'), {}, [], isRun)), []);
    assert.deepEqual(refused(await preflightOf(from('{exec: {command: [no-such-program]}}'))), [
      'files SecretUnavailable secrets.pw doc.yaml:4',
    ]);
  });
});

describe('a file on a read-only file system', () => {
  const yaml = 'host: {files: [{path: /srv/ro/a, content: x}, {path: /opt/b, content: y}]}\n';
  const mountinfo = '22 1 0:1 / / rw - ext4 /dev/a rw\n23 22 0:2 / /srv/ro ro - tmpfs none ro\n';
  const files = { '/proc/self/mountinfo': mountinfo, '/srv/ro/other': '' };

  test('refuses the run, unless it is there as it is to be', async () => {
    assert.deepEqual(refused(await preflightOf(yaml, { files })), [
      'files ReadOnlyFilesystem host.files[0].path doc.yaml:4',
    ]);
    assert.deepEqual(refused(await preflightOf(yaml, { files: { ...files, '/srv/ro/a': 'x' } })), []);
  });
});
