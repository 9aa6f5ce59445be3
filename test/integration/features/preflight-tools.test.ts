import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { describe, test } from 'node:test';
import { withPrivateFiles } from '../../../src/host/linux/private-files.ts';
import { linuxQueryHost } from '../../../src/host/machine/linux-host.ts';
import { PRIVATE_FILES } from '../../../src/host/seam/queries.ts';
import { stepsFor } from '../../../src/pipeline/pipeline.ts';
import { findRequirements } from '../../../src/pipeline/preflight.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { loaded } from '../../support/document.ts';
import { facts } from '../../support/facts.ts';
import { needs } from '../../support/needs.ts';

/** The programs that preflight asks, and not their stand-ins: what they really print is understood. sshd: preflight-sshd.test.ts. */
const host = linuxQueryHost();

async function preflightOf(yaml: string) {
  const { model } = await loaded(yaml);
  const asked = { host, model, facts: facts(), scope: 'all', record: () => EMPTY_RECORD } as const;
  const before = checkDirectories();
  const { unmet, told } = await findRequirements(stepsFor('all', 'linux'), asked);
  assert.deepEqual(checkDirectories(), before);
  const tell = ({ missing: { reason, what } }: (typeof unmet)[number]) => `${reason}: ${what}`;
  return { unmet: unmet.map(tell), told: told.map(tell) };
}

function checkDirectories(): readonly string[] {
  const all = ['/run', '/dev/shm', '/tmp']
    .filter((directory) => existsSync(directory))
    .flatMap((one) => readdirSync(one));
  return all.filter((name) => name.startsWith(`machineadm-check-${process.pid}-`));
}

const file = (path: string, content: string) => `  - {path: ${path}, content: ${JSON.stringify(content)}}\n`;

describe('preflight checks with', () => {
  test('visudo', { skip: needs('visudo') }, async () => {
    const yaml = (rule: string) => `host:\n  files:\n${file('/etc/sudoers.d/machineadm-test', rule)}`;
    assert.deepEqual(await preflightOf(yaml('%ops ALL=(ALL:ALL) NOPASSWD: ALL\n')), { unmet: [], told: [] });
    const { unmet } = await preflightOf(yaml('%ops ALL=ALL) pa55word\n'));
    assert.match(unmet.join(), /^SudoersInvalid: sudo does not understand .*machineadm-test: .*syntax error[^,]*$/);
    assert.doesNotMatch(unmet.join(), /pa55word/);
  });

  test('systemd-analyze', { skip: needs('systemd-analyze') }, async () => {
    const directory = '/etc/systemd/system';
    const bad = [
      file(`${directory}/machineadm-a.service`, '[Service]\nType=oneshot\nExecStart=/opt/none\nTyp=x\n'),
      file(`${directory}/machineadm-b.service`, '[Service\nExecStart=/bin/true\n'),
      file(`${directory}/machineadm-c@.service`, '[Service]\nType=simple\n'),
      file(`${directory}/machineadm-d.service`, '[Service]\nType=oneshot\nExecStart=/opt/none\n'),
      file(`${directory}/machineadm-d.service.d/10.conf`, '[Service]\nFoo=1\n'),
    ];
    const { unmet, told } = await preflightOf(`host:\n  files:\n${bad.join('')}`);
    assert.deepEqual(
      unmet.map((line) => /machineadm-\w/.exec(line)?.[0]),
      ['machineadm-b', 'machineadm-c'],
    );
    assert.deepEqual(
      told.map((line) => /machineadm-\w\.service\S*: line \d/.exec(line)?.[0]),
      ['machineadm-a.service: line 4', 'machineadm-d.service.d/10.conf: line 2'],
    );
  });

  for (const shell of ['sh', 'bash']) {
    test(shell, async () => {
      const commands = [
        'echo "$(date)" | while read -r x; do :; done',
        'if true; then echo pa55word',
        'fi pa55word',
        ': > /run/machineadm-no',
      ];
      const { unmet } = await preflightOf(
        `host: {hooks: {early: {shell: ${shell}, commands: ${JSON.stringify(commands)}}}}\n`,
      );
      assert.deepEqual(
        unmet.map((line) => /commands\[\d\] in its line \d/.exec(line)?.[0]),
        ['commands[1] in its line 2', 'commands[2] in its line 1'],
      );
      assert.doesNotMatch(unmet.join(), /pa55word/);
      assert.equal(existsSync('/run/machineadm-no'), false);
    });
  }

  test('modprobe, and with the kernel for its settings', { skip: needs('modprobe') }, async () => {
    const { unmet } = await preflightOf(
      'host: {kernelModules: [no_such_module], sysctl: {net.ipv4.no_such_key: "1"}}\n',
    );
    assert.match(unmet.join(), /^ModuleMissing: The kernel module no_such_module could not be loaded\.$/);
    const keys = await preflightOf('host: {sysctl: {net.ipv4.no_such_key: "1", kernel.hostname: x}}\n');
    assert.deepEqual(keys.unmet, ['SysctlUnknown: This kernel has no setting named net/ipv4/no_such_key.']);
  });
});

describe('copies of files that are checked', () => {
  test('are readable by root alone, are stored in a directory of their own, and are always removed', async () => {
    const files = { '/etc/x': `${PRIVATE_FILES}/etc/y`, '/../../../../../tmp/machineadm-escaped': '' };
    const query = { program: 'ls', args: ['-lnR', PRIVATE_FILES], files };
    const result = await withPrivateFiles(query, async ({ args }) => {
      const { status, stdout, stderr } = spawnSync('ls', args, { encoding: 'utf8' });
      return { status: status ?? 1, stdout, stderr, timedOut: false };
    });
    assert.match(result.stdout, /^\/etc:\n.*\n-rw-------\.? +1 0 +0 .* x$/m);
    assert.match(result.stdout, /^\/tmp:\n.*\n-rw-------\.? .* machineadm-escaped$/m);
    assert.match(result.stdout, /^drwx------\.? .* etc$/m);
    assert.equal(existsSync('/tmp/machineadm-escaped'), false);
    await assert.rejects(
      withPrivateFiles(query, () => Promise.reject(new Error('no'))),
      /^Error: no$/,
    );
    assert.deepEqual(checkDirectories(), []);
  });

  test('that a killed process left are removed with the next check', async () => {
    const child = spawnSync('true');
    const left = `/run/machineadm-check-${child.pid}-test`;
    mkdirSync(`${left}/etc`, { recursive: true });
    try {
      await withPrivateFiles({ program: 'ls', args: [], files: {} }, async () => ({
        status: 0,
        stdout: '',
        stderr: '',
        timedOut: false,
      }));
      assert.equal(existsSync(left), false);
    } finally {
      rmSync(left, { recursive: true, force: true });
    }
  });
});
