import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { buildLab, buildLayer } from '../../scripts/lab/artefacts.ts';
import { CLOUD_INIT_LOG, layAgent, noCloudSeed } from '../support/cloud-init-machine.ts';
import { Fleet, LAB, type Node, progress } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');
const PACKAGING = join(ROOT, 'packaging');
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

interface UserData {
  readonly write_files: readonly [{ readonly content: string }];
}

/** A user data of packaging/, with its document changed. */
function userData(name: string, change: (document: string) => string = (document) => document): string {
  const data: UserData = parse(readFileSync(join(PACKAGING, 'cloud-init', name), 'utf8'));
  const [file] = data.write_files;
  return `#cloud-config\n${stringify({ ...data, write_files: [{ ...file, content: change(file.content) }] })}`;
}

/** The document with commands that run before anything else. */
function withEarlyHook(...commands: readonly string[]): (document: string) => string {
  return (document) => {
    const { host, ...rest } = parse(document);
    return stringify({ ...rest, host: { ...host, hooks: { early: { commands } } } });
  };
}

/** Reboots the machine in the middle of the run, the first time only, as a kernel update or a watchdog would. */
const REBOOTS_ONCE = withEarlyHook('if [ ! -e /var/lib/rebooted ]; then touch /var/lib/rebooted; sync; reboot -ff; fi');

describe('the first boot of a machine', { skip, timeout: 30 * MINUTE }, () => {
  let agentLayer = '';
  let scratch = '';

  /** A layer over the machine image, as an image builder makes it: the binary, and a unit that is enabled. */
  function imageLayer(name: string, unit?: string): string {
    const layer = join(scratch, name);
    layAgent(layer);
    if (unit === undefined) return layer;
    const units = join(layer, 'etc/systemd/system');
    mkdirSync(join(units, 'multi-user.target.wants'), { recursive: true });
    copyFileSync(join(PACKAGING, 'systemd', unit), join(units, unit));
    if (unit === 'machineadm-resume.service') symlinkSync(`../${unit}`, join(units, 'multi-user.target.wants', unit));
    return layer;
  }

  async function bootWithCloudInit(name: string, ip: string, data: string, layer = agentLayer): Promise<Node> {
    const cloudInit = await buildLayer('cloud-init', progress);
    const files = noCloudSeed(data, name);
    return await fleet.start({ name, ip, lower: [layer, cloudInit], files });
  }

  /** What cloud-init says of the boot: `done` or `error`. */
  async function cloudInitStatus(node: Node): Promise<string | undefined> {
    const { stdout } = await node.machine.exec(['cloud-init', 'status', '--long']);
    return /^status: (\w+)$/m.exec(stdout)?.[1];
  }

  const fleet = Fleet.ofSuite(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'machineadm-first-boot-'));
    agentLayer = imageLayer('resume', 'machineadm-resume.service');
  });
  after(() => {
    if (scratch !== '') rmSync(scratch, { recursive: true });
  });

  describe('cloud-init, whose runcmd runs machineadm', () => {
    test('reports done when the machine matches its document', { timeout: 5 * MINUTE }, async () => {
      const node = await bootWithCloudInit('e2e-ci1', '10.99.0.71', userData('user-data.yaml'));
      assert.equal(await cloudInitStatus(node), 'done', await node.read(CLOUD_INIT_LOG));
      const status = await node.status();
      assert.deepEqual([status.outcome, status.exitCode, status.attempt], ['Succeeded', 0, 1]);
      assert.equal(await node.read('/etc/motd'), 'prepared by machineadm\n');
      assert.equal(await node.machine.shell('cat /proc/sys/net/ipv4/ip_forward'), '1\n');
      const resume = await node.machine.shell('journalctl -u machineadm-resume -o cat --no-pager');
      assert.doesNotMatch(resume, /error/i);
      await node.machine.reboot();
      assert.equal((await node.status()).runId, status.runId, 'nothing is run again');
      await fleet.remove(node);
    });

    test('reports an error when the document fails, with the summary of machineadm in its log', {
      timeout: 5 * MINUTE,
    }, async () => {
      const data = userData('user-data.yaml', withEarlyHook('echo the disk shelf is missing >&2; exit 3'));
      const node = await bootWithCloudInit('e2e-ci2', '10.99.0.72', data);
      assert.equal(await cloudInitStatus(node), 'error', await node.read(CLOUD_INIT_LOG));
      const status = await node.status();
      assert.deepEqual([status.outcome, status.failure?.reason], ['Failed', 'HookFailed']);
      const log = (await node.read(CLOUD_INIT_LOG)) ?? '';
      assert.ok(log.includes(status.failure?.summary ?? 'no summary'), log);
      assert.match(log, /HookFailed/);
      assert.match(log, /the disk shelf is missing/);
      assert.equal(await node.read('/etc/motd').then((text) => text?.includes('machineadm')), false);
      await fleet.remove(node);
    });

    test('reports done after a reboot during the run, which the unit has resumed by then', {
      timeout: 6 * MINUTE,
    }, async () => {
      const data = userData('user-data.yaml', REBOOTS_ONCE);
      const node = await bootWithCloudInit('e2e-ci3', '10.99.0.73', data);
      assert.notEqual(await node.read('/var/lib/rebooted'), undefined, 'it was rebooted');
      assert.equal(await cloudInitStatus(node), 'done');
      const status = await node.status();
      assert.deepEqual([status.outcome, status.attempt], ['Succeeded', 2]);
      assert.equal(await node.read('/etc/motd'), 'prepared by machineadm\n');
      await fleet.remove(node);
    });

    test('would report done with half a node after such a reboot if there were no unit', {
      timeout: 6 * MINUTE,
    }, async () => {
      const data = userData('user-data.yaml', REBOOTS_ONCE);
      const node = await bootWithCloudInit('e2e-ci4', '10.99.0.74', data, imageLayer('no-unit'));
      assert.equal(await cloudInitStatus(node), 'done');
      const status = await node.status();
      assert.equal(status.outcome, 'Interrupted', 'machineadm tells the truth of it');
      assert.notEqual(await node.read('/etc/motd'), 'prepared by machineadm\n');
      await fleet.remove(node);
    });
  });

  describe('cloud-init, which waits for the unit that runs machineadm', () => {
    const withUnit = () => imageLayer('provision', 'machineadm-provision.service');

    test('reports done, also after a reboot during the run', { timeout: 6 * MINUTE }, async () => {
      const data = userData('user-data-unit.yaml', REBOOTS_ONCE);
      const node = await bootWithCloudInit('e2e-ci5', '10.99.0.75', data, withUnit());
      assert.equal(await cloudInitStatus(node), 'done', await node.read(CLOUD_INIT_LOG));
      await node.agent(['status', '--wait', '--timeout', '60s']);
      const status = await node.status();
      assert.deepEqual([status.outcome, status.attempt], ['Succeeded', 2]);
      await fleet.remove(node);
    });

    test('reports an error when the document fails, with the summary of machineadm in its log', {
      timeout: 5 * MINUTE,
    }, async () => {
      const data = userData('user-data-unit.yaml', withEarlyHook('exit 3'));
      const node = await bootWithCloudInit('e2e-ci6', '10.99.0.76', data, withUnit());
      assert.equal(await cloudInitStatus(node), 'error', await node.read(CLOUD_INIT_LOG));
      const { failure } = await node.status();
      assert.equal(failure?.reason, 'HookFailed');
      assert.ok((await node.read(CLOUD_INIT_LOG))?.includes(failure?.summary ?? 'no summary'));
      await fleet.remove(node);
    });
  });

  test('early hooks of every boot run at every boot, before the kubelet, and a failing one is seen', {
    timeout: 6 * MINUTE,
  }, async () => {
    const node = await fleet.start({ name: 'e2e-hk1', ip: '10.99.0.78' });
    const trace = '/var/lib/e2e-boots';
    const unit = 'machineadm-hooks.service';
    const commands = [`test ! -e /var/lib/e2e-fails`, `echo "$(cat /proc/sys/kernel/random/boot_id)" >> ${trace}`];
    const early = { frequency: 'Always', commands };
    const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name: 'e2e-hk1' } };
    await node.lay({ ...header, host: { hooks: { early } } });
    assert.equal((await node.provision()).status.outcome, 'Succeeded');
    const boots = async () => ((await node.read(trace)) ?? '').trim().split('\n').length;
    assert.equal(await boots(), 1);

    await node.machine.reboot();
    assert.equal(await boots(), 2);
    const timeOf = async (property: string, of: string) =>
      Number((await node.machine.exec(['systemctl', 'show', '-p', property, '--value', of])).stdout.trim());
    const ended = await timeOf('ExecMainExitTimestampMonotonic', unit);
    const started = await timeOf('ExecMainStartTimestampMonotonic', 'kubelet');
    assert.ok(ended > 0 && started > ended, `the hooks ended at ${ended} us, the kubelet started at ${started} us`);

    await node.machine.shell('touch /var/lib/e2e-fails');
    await node.machine.reboot();
    assert.equal(await boots(), 2);
    assert.equal((await node.machine.exec(['systemctl', 'is-failed', unit])).stdout.trim(), 'failed');
    assert.match(await node.machine.shell(`journalctl -b -u ${unit} -o cat --no-pager`), /HookFailed/);
    assert.equal((await node.status()).outcome, 'Succeeded', 'what is reported of the run stays true');
    await fleet.remove(node);
  });

  test('Ignition writes the document and the unit, and the machine provisions itself', {
    timeout: 6 * MINUTE,
  }, async () => {
    const { root } = await buildLab(progress);
    const ignition = await buildLayer('ignition', progress);
    const layer = imageLayer('ignition');
    // Ignition enables units by a preset, which systemd follows at the first boot. Debian presets everything to enabled.
    mkdirSync(join(layer, 'etc/systemd/system-preset'), { recursive: true });
    writeFileSync(join(layer, 'etc/systemd/system-preset/99-lab.preset'), 'disable *\n');
    const script = join(import.meta.dirname, '../support/ignition.sh');
    const config = join(PACKAGING, 'ignition/config.ign');
    const run = spawnSync('bash', [script, root, ignition, layer, config], { encoding: 'utf8' });
    assert.equal(run.status, 0, `${run.stdout}\n${run.stderr}`);

    const node = await fleet.start({ name: 'e2e-ig1', ip: '10.99.0.77', lower: [layer], machineId: 'uninitialized' });
    const waited = await node.agent(['status', '--wait', '--timeout', '2m']);
    assert.equal(waited.exitCode, 0, waited.stdout);
    assert.equal((await node.status()).outcome, 'Succeeded');
    assert.equal(await node.read('/etc/motd'), 'prepared by machineadm\n');
    assert.match(
      await node.machine.shell('stat -c "%a %U:%G" /etc/machineadm /etc/machineadm/bootstrap.yaml'),
      /^700 root:root\n600 root:root\n$/,
    );
    await fleet.remove(node);
  });
});
