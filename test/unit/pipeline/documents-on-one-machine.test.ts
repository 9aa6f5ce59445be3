import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { withChecksum } from '../../../src/host/files/checksum.ts';
import { stampOf } from '../../../src/owned-files/owned-places.ts';
import { commandOn, machineInMemory } from '../../support/machine-in-memory.ts';
import { wholeMachine } from '../../support/whole-machine.ts';

const directory = mkdtempSync(join(tmpdir(), 'machineadm-documents-'));
after(() => rmSync(directory, { recursive: true }));

/** A document of this name in a file. */
function file(name: string, host: string, path = `${name}.yaml`): string {
  const text = `apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: ${name}}\nreporting: {sinks: []}\nhost:\n${host}`;
  const full = join(directory, path);
  writeFileSync(full, text, { mode: 0o600 });
  return full;
}

/** A machine, and the commands that run on it. */
function machine() {
  const programs = { sh: () => ({}) };
  const services = { 'machineadm-hooks.service': {} };
  const host = wholeMachine({ programs, services, files: { '/run/systemd/system/x': '' } });
  const inMemory = { ...machineInMemory(), host };
  const run = async (...args: readonly string[]) => await commandOn(inMemory, ...args);
  return {
    host,
    run,
    async provision(path: string) {
      const { status, stderr, stdout } = await run('provision', '-f', path, '-o', 'json');
      assert.equal(status, 0, `${stderr}${stdout}`);
    },
    /** Ids of the changes that a plan shows. */
    async planned(path: string): Promise<readonly string[]> {
      const { stdout, stderr } = await run('plan', '-f', path, '-o', 'json');
      assert.notEqual(stdout, '', stderr);
      return JSON.parse(stdout).changes.map(({ id }: { id: string }) => id);
    },
  };
}

const SYSCTL = (name: string) => `/etc/sysctl.d/99-zzz-machineadm-${name}.conf`;
const MODULES = (name: string) => `/etc/modules-load.d/91-machineadm-${name}.conf`;

describe('a second document', () => {
  const A =
    '  sysctl: {vm.overcommit_memory: 1}\n  kernelModules: [br_netfilter]\n  files: [{path: /etc/foo, content: x}]\n';
  const B = '  sysctl: {kernel.panic: 10}\n  kernelModules: [overlay]\n  files: [{path: /etc/bar, content: x}]\n';

  test('leaves what the first asked for, and neither has anything to do afterwards', async () => {
    const { host, provision, planned } = machine();
    const [a, b] = [file('a', A), file('b', B)];
    await provision(a);
    await provision(b);
    assert.match(host.text(SYSCTL('a')) ?? '', /vm\/overcommit_memory = 1/);
    assert.match(host.text(SYSCTL('b')) ?? '', /kernel\/panic = 10/);
    assert.match(host.text(MODULES('a')) ?? '', /br_netfilter/);
    assert.match(host.text(MODULES('b')) ?? '', /overlay/);
    assert.equal(host.text('/etc/foo'), 'x');
    assert.equal(host.text('/etc/bar'), 'x');
    assert.deepEqual(await planned(a), []);
    assert.deepEqual(await planned(b), []);
  });

  test('runs its hooks, also if it has the name of the first', async () => {
    const { provision, planned } = machine();
    const hook = (what: string) => `  hooks: {early: {commands: ["touch /root/${what}"]}}\n`;
    await provision(file('a', hook('A')));
    assert.deepEqual(await planned(file('b', hook('B'))), ['hooks-early/run']);
    await provision(file('b', hook('B')));
    assert.deepEqual(await planned(file('a', hook('C'), 'c.yaml')), ['hooks-early/run']);
    assert.deepEqual(await planned(file('a', hook('A'))), []);
    assert.deepEqual(await planned(file('b', hook('B'))), []);
  });

  test('that contradicts the first is refused before any change, with both places', async () => {
    const { host, provision, run } = machine();
    await provision(file('a', A));
    const b = file('b', '  sysctl: {vm.overcommit_memory: 2}\n');
    const before = host.log.length;
    const { status, stderr } = await run('provision', '-q', '-f', b);
    assert.equal(status, 4, stderr);
    assert.match(stderr, /DocumentConflict/);
    assert.match(stderr, /b\.yaml:6:\d+\).*a\.yaml:6:\d+\) of the document a/s);
    assert.match(stderr, /machineadm reset --document a/);
    assert.deepEqual(
      host.log.slice(before).filter((line) => !/ \/(?:run|var\/lib)\/machineadm\//.test(line)),
      [],
    );
    const { refusal } = JSON.parse((await run('plan', '-f', b, '-o', 'json')).stdout);
    assert.equal(refusal.reason, 'DocumentConflict');
  });

  test('shares what both ask for: the last one that drops it undoes it', async () => {
    const { host, provision, planned } = machine();
    const both = '  files: [{path: /etc/foo, content: x}]\n';
    await provision(file('a', both));
    await provision(file('b', both));
    await provision(file('a', '  rebootPolicy: Never\n'));
    assert.equal(host.text('/etc/foo'), 'x');
    assert.deepEqual(await planned(file('b', both)), []);
    await provision(file('b', '  rebootPolicy: Never\n'));
    assert.equal(host.text('/etc/foo'), undefined);
  });

  test('keeps certificate authorities, entries of /etc/hosts and hooks of every boot of the first', async () => {
    const { host, provision, planned } = machine();
    const hosts = (name: string, address: string) =>
      `  hosts: {entries: [{address: ${address}, names: [${name}.example]}]}\n  hooks: {early: {frequency: Always, commands: ["echo ${name}"]}}\n`;
    const [a, b] = [file('a', hosts('a', '10.0.0.1')), file('b', hosts('b', '10.0.0.2'))];
    await provision(a);
    await provision(b);
    assert.match(host.text('/etc/hosts') ?? '', /10\.0\.0\.1 a\.example/);
    assert.match(host.text('/etc/hosts') ?? '', /10\.0\.0\.2 b\.example/);
    assert.match(host.text('/var/lib/machineadm/hooks/every-boot-a.json') ?? '', /echo a/);
    assert.match(host.text('/var/lib/machineadm/hooks/every-boot-b.json') ?? '', /echo b/);
    assert.deepEqual(await planned(a), []);
    assert.deepEqual(await planned(b), []);
    await provision(file('b', '  rebootPolicy: Never\n'));
    assert.match(host.text('/etc/hosts') ?? '', /10\.0\.0\.1 a\.example/);
    assert.doesNotMatch(host.text('/etc/hosts') ?? '', /b\.example/);
    assert.deepEqual(await planned(a), []);
  });
});

describe('the document of an image', () => {
  test('stays beside that of the machine, also if both have one name', async () => {
    const { host, run, provision, planned } = machine();
    const image = file('e', '  sysctl: {vm.overcommit_memory: 1}\n  kernelModules: [br_netfilter]\n', 'image.yaml');
    const { status, stderr } = await run('prepare', '-q', '-f', image);
    assert.equal(status, 0, stderr);
    const own = file('e', '  sysctl: {kernel.panic: 10}\n  kernelModules: [overlay]\n');
    await provision(own);
    assert.match(host.text('/etc/sysctl.d/99-zz-machineadm-e.conf') ?? '', /vm\/overcommit_memory = 1/);
    assert.match(host.text(SYSCTL('e')) ?? '', /kernel\/panic = 10/);
    assert.match(host.text('/etc/modules-load.d/90-machineadm-e.conf') ?? '', /br_netfilter/);
    assert.match(host.text(MODULES('e')) ?? '', /overlay/);
    assert.deepEqual(await planned(own), []);
  });

  test('is enough where that of the machine asks for the same', async () => {
    const { host, run, provision, planned } = machine();
    const document = file('e', '  sysctl: {vm.overcommit_memory: 1}\n  kernelModules: [br_netfilter]\n');
    await run('prepare', '-q', '-f', document);
    await provision(document);
    assert.equal(host.text(SYSCTL('e')), undefined);
    assert.equal(host.text(MODULES('e')), undefined);
    assert.deepEqual(await planned(document), []);
  });
});

describe('a reset of one document', () => {
  const A =
    '  sysctl: {vm.overcommit_memory: 1}\n  hosts: {entries: [{address: 10.0.0.1, names: [a.example]}]}\n  files: [{path: /etc/app/a, content: x}, {path: /etc/both, content: x}]\n';
  const B =
    '  sysctl: {kernel.panic: 10}\n  hosts: {entries: [{address: 10.0.0.2, names: [b.example]}]}\n  files: [{path: /etc/app/b, content: x}, {path: /etc/both, content: x}]\n';

  test('leaves exactly the others, in whatever order they came', async () => {
    for (const order of ['ab', 'ba']) {
      const { host, run, provision, planned } = machine();
      const [a, b] = [file('a', A), file('b', B)];
      for (const name of order) await provision(name === 'a' ? a : b);
      const dry = await run('reset', '--document', 'b', '--dry-run');
      assert.doesNotMatch(dry.stdout, /\/etc\/both|overcommit/);
      const { status, stdout, stderr } = await run('reset', '--document', 'b', '--yes');
      assert.equal(status, 0, stderr);
      assert.match(stdout, /what only the document b asked for is undone/);
      assert.equal(host.text('/etc/app/b'), undefined);
      assert.equal(host.text('/etc/app/a'), 'x');
      assert.equal(host.text('/etc/both'), 'x');
      assert.equal(host.text(SYSCTL('b')), undefined);
      assert.equal(host.text('/proc/sys/kernel/panic')?.trim(), '0');
      assert.equal(host.text('/proc/sys/vm/overcommit_memory')?.trim(), '1');
      assert.doesNotMatch(host.text('/etc/hosts') ?? '', /b\.example/);
      assert.deepEqual(await planned(a), [], order);
      const last = await run('reset', '--yes');
      assert.equal(last.status, 0, last.stderr);
      assert.equal(host.text('/etc/both'), undefined);
      assert.equal(host.text('/etc/hosts'), '127.0.0.1 localhost\n');
      assert.equal(host.text('/proc/sys/vm/overcommit_memory')?.trim(), '0');
    }
  });

  test('is refused for a document that is not there', async () => {
    const { run, provision } = machine();
    await provision(file('a', A));
    const { status, stderr } = await run('reset', '--document', 'c', '--yes');
    assert.equal(status, 4);
    assert.match(stderr, /no document named c was applied to this machine, only a/);
  });
});

describe('a reset with nothing to undo', () => {
  test('succeeds on a machine that was never touched, after a refused run, and after a reset', async () => {
    const { run, provision } = machine();
    const nothing = async () => {
      const { status, stdout } = await run('reset', '--yes');
      assert.deepEqual(
        [status, stdout],
        [0, 'there is nothing to undo: no change of machineadm is recorded on this machine\n'],
      );
    };
    await nothing();
    assert.equal((await run('provision', '-q', '-f', file('bad', '  nothing: 1\n'))).status, 3);
    await nothing();
    await provision(file('a', '  files: [{path: /etc/foo, content: x}]\n'));
    const { stdout } = await run('reset', '--yes');
    assert.match(stdout, /this machine is as it was before the first run/);
    await nothing();
  });
});

describe('a document with a new name', () => {
  test('shares everything with the old one, and the hooks of the same file do not run again', async () => {
    const { host, run, provision, planned } = machine();
    const body =
      '  sysctl: {kernel.panic: 10}\n  files: [{path: /etc/foo, content: x}]\n  hooks: {early: {commands: ["true"]}}\n';
    await provision(file('old', body, 'same.yaml'));
    const renamed = file('new', body, 'same.yaml');
    assert.deepEqual(await planned(renamed), ['sysctl/file']);
    await provision(renamed);
    assert.equal((await run('reset', '--document', 'old', '--yes')).status, 0);
    assert.equal(host.text('/etc/foo'), 'x');
    assert.equal(host.text('/proc/sys/kernel/panic')?.trim(), '10');
    assert.equal(host.text(SYSCTL('old')), undefined);
    assert.deepEqual(await planned(renamed), []);
  });
});

describe('what an earlier version recorded', () => {
  test('becomes that of the document which is read from the same file', async () => {
    const { host, provision, planned } = machine();
    const path = file(
      'a',
      '  sysctl: {kernel.panic: 10}\n  files: [{path: /etc/foo, content: x}]\n  hooks: {early: {commands: ["true"]}}\n',
    );
    await provision(path);
    // As it was: no name, no record of what is asked for, and a drop-in without a name.
    const journal = '/var/lib/machineadm/journal';
    const legacy = '/etc/sysctl.d/99-zz-machineadm.conf';
    const content = host.text(SYSCTL('a')) ?? '';
    host.take(SYSCTL('a'));
    host.put(legacy, { content, mode: 0o644 });
    const stat = await host.stat(legacy);
    assert.ok(stat !== undefined);
    const lines = (host.text(journal) ?? '')
      .split('\n')
      .filter((line) => line !== '' && !line.includes('"is":"document"'));
    const earlier = lines.map((line) => {
      const { crc32: _crc32, name: _name, ...record } = JSON.parse(line.replaceAll(SYSCTL('a'), legacy));
      return withChecksum(JSON.stringify(record.path === legacy ? { ...record, stamp: stampOf(stat) } : record));
    });
    host.put(journal, { content: `${earlier.join('\n')}\n`, mode: 0o600 });
    const changes = await planned(path);
    assert.equal(changes[0], 'sysctl/file');
    assert.ok(!changes.includes('hooks-early/run'), 'the hook ran before');
    await provision(path);
    assert.equal(host.text(SYSCTL('a')), content);
    assert.equal(host.text(legacy), undefined);
    assert.deepEqual(await planned(path), []);
    await provision(file('a', '  rebootPolicy: Never\n'));
    assert.equal(host.text('/etc/foo'), undefined);
  });
});
