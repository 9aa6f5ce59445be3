import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { kernelModules } from '../../../../src/features/kernel-modules/index.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryHost, type MemoryProgram, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const FILE = '/etc/modules-load.d/91-machineadm-node-1.conf';
const wanted = hostModel({ kernelModules: ['overlay', 'br-netfilter'] });

/** A modprobe that loads what exists, and prints the given configuration. */
function modprobe(existing: readonly string[], configuration = ''): MemoryProgram {
  return ({ args }, host: MemoryHost) => {
    if (args[0] === '-c') return { stdout: configuration };
    const name = args.at(-1) ?? '';
    if (configuration.includes(`install ${name} /bin/true`)) return {};
    if (!existing.includes(name))
      return { status: 1, stderr: `modprobe: FATAL: Module ${name} not found in directory` };
    host.put(`/sys/module/${name}`, { type: 'directory' });
    return {};
  };
}

describe('kernel modules', () => {
  test('are loaded now and at every boot, and a second run changes nothing', async () => {
    const host = memoryHost({ programs: { modprobe: modprobe(['overlay', 'br_netfilter']) } });
    const run = await runStep(kernelModules, host, wanted);
    assert.deepEqual(
      run.changes.map(({ id, scope }) => [id, scope]),
      [
        ['kernel-modules/file', 'base'],
        ['kernel-modules/load/overlay', 'node'],
        ['kernel-modules/load/br_netfilter', 'node'],
      ],
    );
    assert.deepEqual(run.left, []);
    assert.equal(host.text(FILE), '# Written by machineadm.\noverlay\nbr_netfilter\n');
    assert.ok(host.log.includes(`write ${FILE} 0644 0:0`));
    assert.deepEqual(await planned(kernelModules, host, wanted), []);
  });

  test('an image bake writes the list and loads nothing into the kernel of the builder', async () => {
    const host = memoryHost({});
    const run = await runStep(kernelModules, host, wanted, { scope: 'base' });
    assert.deepEqual(
      run.changes.map(({ id }) => id),
      ['kernel-modules/file'],
    );
    assert.ok(host.log.every((line) => !line.startsWith('run ')));
  });

  for (const [where, files] of [
    ['a file system of the kernel', { '/proc/filesystems': 'nodev\tproc\n\text4\nnodev\toverlay\n' }],
    ['loaded or built in with parameters', { '/sys/module/overlay': { type: 'directory' } }],
    [
      'in modules.builtin',
      {
        '/proc/sys/kernel/osrelease': '6.1.0-18-amd64\n',
        '/lib/modules/6.1.0-18-amd64/modules.builtin': 'kernel/fs/overlayfs/overlay.ko\n',
      },
    ],
  ] as const) {
    test(`modprobe is not called for a module that is ${where}`, async () => {
      const host = memoryHost({ files });
      const changes = await planned(kernelModules, host, hostModel({ kernelModules: ['overlay'] }));
      assert.deepEqual(
        changes.map(({ id }) => id),
        ['kernel-modules/file'],
      );
    });
  }

  test('br_netfilter that is built in shows by its sysctl keys alone', async () => {
    const host = memoryHost({ kernelFiles: { '/proc/sys/net/bridge/bridge-nf-call-iptables': '1\n' } });
    const changes = await planned(kernelModules, host, hostModel({ kernelModules: ['br_netfilter'] }));
    assert.deepEqual(
      changes.map(({ id }) => id),
      ['kernel-modules/file'],
    );
  });

  test('a module that this kernel lacks is ModuleMissing, with what modprobe said', async () => {
    const host = memoryHost({ programs: { modprobe: modprobe([]) } });
    await assert.rejects(runStep(kernelModules, host, hostModel({ kernelModules: ['ip_vs'] })), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'ModuleMissing');
      assert.match(error.evidence[0]?.text ?? '', /Module ip_vs not found/);
      return true;
    });
  });

  test('without modprobe an absent module is ModuleMissing', async () => {
    await assert.rejects(runStep(kernelModules, memoryHost(), hostModel({ kernelModules: ['ip_vs'] })), {
      reason: 'ModuleMissing',
    });
  });

  for (const program of ['/bin/true', '/bin/false', '/usr/bin/false', '/sbin/nologin']) {
    test(`a module denied by "install … ${program}" is ModuleDenied, even where modprobe exits 0`, async () => {
      const configuration = `options snd_hda_intel power_save=1\ninstall br_netfilter ${program}\n`;
      const host = memoryHost({ programs: { modprobe: modprobe([], configuration) } });
      await assert.rejects(runStep(kernelModules, host, hostModel({ kernelModules: ['br_netfilter'] })), (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.equal(error.reason, 'ModuleDenied');
        assert.equal(error.evidence[0]?.text, `install br_netfilter ${program}`);
        return true;
      });
    });
  }

  test('an install line that does load the module denies nothing', async () => {
    const configuration = 'install ip_vs /sbin/modprobe --ignore-install ip_vs && /bin/true\n';
    const host = memoryHost({ programs: { modprobe: modprobe([], configuration) } });
    await assert.rejects(runStep(kernelModules, host, hostModel({ kernelModules: ['ip_vs'] })), {
      reason: 'ModuleMissing',
    });
  });

  test('an alias that loads under another name is named as such', async () => {
    const host = memoryHost({ programs: { modprobe: () => ({}) } });
    await assert.rejects(runStep(kernelModules, host, hostModel({ kernelModules: ['ip_conntrack'] })), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'ModuleMissing');
      assert.match(error.remedy, /alias/);
      return true;
    });
  });

  test('a blacklisted module is loaded now, with a warning that the next boot will not load it', async () => {
    const host = memoryHost({ programs: { modprobe: modprobe(['br_netfilter'], 'blacklist br-netfilter\n') } });
    const run = await runStep(kernelModules, host, hostModel({ kernelModules: ['br_netfilter'] }));
    assert.equal(run.warnings.length, 1);
    assert.match(run.warnings[0] ?? '', /br_netfilter is on modprobe's blacklist/);
  });
});
