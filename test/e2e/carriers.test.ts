import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { buildLab, buildLayer } from '../../scripts/lab/artefacts.ts';
import { buildInfo } from '../../src/cli/build-info.ts';
import { agent } from '../support/agent.ts';
import { CLOUD_INIT_LOG, layAgent, noCloudSeed } from '../support/cloud-init-machine.ts';
import { hostDocument, initDocument, newSeeds, toYaml } from '../support/documents.ts';
import { Fleet, LAB, type Node, progress, SENTINEL } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { newerCloudInitLayer } from '../support/newer-cloud-init.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');
const MIRROR = '/srv/machineadm';
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

describe('machines that boot with what wrap writes', { skip, timeout: 30 * MINUTE }, () => {
  const seeds = newSeeds();
  const { version } = buildInfo();
  let scratch = '';
  /** A layer over the machine image with machineadm in it, and one with a mirror of a release in its place. */
  let image = '';
  let mirror = '';
  let manifest = '';

  const fleet = Fleet.ofSuite(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'machineadm-carriers-'));
    image = join(scratch, 'image');
    mirror = join(scratch, 'mirror');
    manifest = join(scratch, 'manifest.json');
    layAgent(image);
    const release = join(mirror, MIRROR, version);
    const liar = join(mirror, `${MIRROR}-liar`, version);
    for (const directory of [release, liar]) mkdirSync(directory, { recursive: true });
    const program = readFileSync(join(ROOT, 'dist/machineadm'));
    const archive = gzipSync(program, { level: 1 });
    const name = `machineadm-${version}-linux-amd64.gz`;
    writeFileSync(join(release, name), archive);
    writeFileSync(join(liar, name), gzipSync('#!/bin/sh\ntouch /root/fooled\n'));
    const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
    writeFileSync(
      manifest,
      JSON.stringify({
        apiVersion: 'machineadm.dev/release/v1',
        kind: 'Release',
        version,
        createdAt: '2026-11-20T12:00:00Z',
        commit: 'unknown',
        keyId: `${'A'.repeat(43)}=`,
        minimumVersion: version,
        revokedKeys: [],
        artefacts: [
          {
            ...{ file: name, os: 'linux', architecture: 'amd64', compression: 'gzip' },
            size: archive.length,
            sha256: digest(archive),
            program: { size: program.length, sha256: digest(program) },
          },
        ],
      }),
    );
  });
  after(() => {
    if (scratch !== '') rmSync(scratch, { recursive: true });
  });

  async function wrap(document: string, ...args: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await agent(['wrap', '-d', '-', ...args], { input: document });
    assert.equal(status, 0, stderr);
    return stdout;
  }

  const fetchOptions = () => [
    ...['--fetch', `file://${MIRROR}-liar`, '--fetch', `file://${MIRROR}`],
    ...['--release-manifest', manifest],
  ];

  async function bootWithCloudInit(name: string, ip: string, userData: string, ...layers: string[]): Promise<Node> {
    const cloudInit = await buildLayer('cloud-init', progress);
    const files = noCloudSeed(userData, name);
    return await fleet.start({ name, ip, lower: [...layers, cloudInit], files, withoutAgent: true });
  }

  async function cloudInitStatus(node: Node): Promise<string | undefined> {
    const { stdout } = await node.machine.exec(['cloud-init', 'status', '--wait', '--long'], { timeoutMs: 6 * MINUTE });
    return /^status: (\w+)$/m.exec(stdout)?.[1];
  }

  test('cloud-init 22.4 makes the machine a control plane from a NoCloud seed, once', {
    timeout: 10 * MINUTE,
  }, async () => {
    const site = { name: 'e2e-ca1', ip: '10.99.0.121' };
    const userData = await wrap(toYaml(initDocument(site, seeds)), '--format', 'cloud-init', '--profile', 'capa');
    const node = await bootWithCloudInit(site.name, site.ip, userData, image);
    assert.match(await node.machine.shell('cloud-init --version 2>&1'), /22\.4/);
    assert.equal(await cloudInitStatus(node), 'done', await node.read(CLOUD_INIT_LOG));
    const status = await node.status();
    assert.deepEqual([status.outcome, status.exitCode], ['Succeeded', 0]);
    assert.equal(await node.read(SENTINEL), 'success\n');
    const nodes = await node.machine.exec(['kubectl', '--kubeconfig', '/etc/kubernetes/admin.conf', 'get', 'nodes']);
    assert.match(nodes.stdout, /^e2e-ca1 /m);
    assert.equal(await node.machine.shell('stat -c %a /etc/machineadm/bootstrap.yaml'), '600\n');
    await node.machine.reboot();
    assert.equal(await cloudInitStatus(node), 'done');
    assert.equal((await node.status()).runId, status.runId, 'nothing is run again');
    await fleet.remove(node);
  });

  const newer = skip === false ? newerCloudInitLayer() : { unavailable: 'MACHINEADM_E2E=all' };
  test('cloud-init 25.1 prepares a host from a NoCloud seed', {
    skip: needs(newer),
    timeout: 5 * MINUTE,
  }, async () => {
    assert.ok('root' in newer);
    const site = { name: 'e2e-ca7', ip: '10.99.0.127' };
    const userData = await wrap(toYaml(hostDocument(site, seeds)), '--format', 'cloud-init');
    const node = await bootWithCloudInit(site.name, site.ip, userData, image, newer.root);
    assert.match(await node.machine.shell('cloud-init --version 2>&1'), /25\.1/);
    assert.equal(await cloudInitStatus(node), 'done', await node.read(CLOUD_INIT_LOG));
    assert.equal((await node.status()).outcome, 'Succeeded');
    assert.equal(await node.read('/etc/e2e/plain.conf'), 'colour = blue\n');
    await fleet.remove(node);
  });

  test('cloud-init reports an error when the document fails, with the output of machineadm', {
    timeout: 5 * MINUTE,
  }, async () => {
    const site = { name: 'e2e-ca2', ip: '10.99.0.122' };
    const document = { ...hostDocument(site, seeds), host: { hooks: { early: { commands: ['exit 3'] } } } };
    const node = await bootWithCloudInit(
      site.name,
      site.ip,
      await wrap(toYaml(document), '--format', 'cloud-init'),
      image,
    );
    assert.equal(await cloudInitStatus(node), 'error', await node.read(CLOUD_INIT_LOG));
    assert.match((await node.read(CLOUD_INIT_LOG)) ?? '', /HookFailed/);
    await fleet.remove(node);
  });

  test('--fetch: a machine without machineadm gets it from the second location when the first serves bad data', {
    timeout: 6 * MINUTE,
  }, async () => {
    const site = { name: 'e2e-ca3', ip: '10.99.0.123' };
    const userData = await wrap(toYaml(hostDocument(site, seeds)), '--format', 'cloud-init', ...fetchOptions());
    const node = await bootWithCloudInit(site.name, site.ip, userData, mirror);
    assert.equal(await cloudInitStatus(node), 'done', await node.read(CLOUD_INIT_LOG));
    assert.equal((await node.status()).outcome, 'Succeeded');
    const log = (await node.read(CLOUD_INIT_LOG)) ?? '';
    assert.match(log, /machineadm-download: file:\/\/\/srv\/machineadm-liar: .* has the SHA-256/);
    assert.match(log, /machineadm-download: installed \/usr\/local\/bin\/machineadm/);
    assert.equal(await node.read('/root/fooled'), undefined);
    const enabled = await node.machine.exec(['systemctl', 'is-enabled', 'machineadm-resume.service']);
    assert.equal(enabled.stdout, 'enabled\n');
    await node.machine.reboot();
    const resume = await node.machine.shell('journalctl -b -u machineadm-resume -o cat --no-pager');
    assert.doesNotMatch(resume, /error|failed/i, 'after a success there is nothing to resume');
    await fleet.remove(node);
  });

  test('--fetch: a run that a reboot interrupted is resumed by the unit in the user data', {
    timeout: 6 * MINUTE,
  }, async () => {
    const site = { name: 'e2e-ca4', ip: '10.99.0.124' };
    const commands = ['if [ ! -e /var/lib/rebooted ]; then touch /var/lib/rebooted; sync; reboot -ff; fi'];
    const document = { ...hostDocument(site, seeds), host: { hooks: { early: { commands } } } };
    const userData = await wrap(toYaml(document), '--format', 'cloud-init', ...fetchOptions());
    const node = await bootWithCloudInit(site.name, site.ip, userData, mirror);
    assert.equal(await cloudInitStatus(node), 'done', await node.read(CLOUD_INIT_LOG));
    const status = await node.status();
    assert.deepEqual([status.outcome, status.attempt], ['Succeeded', 2]);
    await fleet.remove(node);
  });

  for (const [mode, ip] of [
    ['in the image', '10.99.0.125'],
    ['fetched', '10.99.0.126'],
  ] as const) {
    test(`Ignition writes the document, and the unit provisions the machine; machineadm ${mode}`, {
      timeout: 6 * MINUTE,
    }, async () => {
      const fetched = mode === 'fetched';
      const site = { name: fetched ? 'e2e-ca6' : 'e2e-ca5', ip };
      const { root } = await buildLab(progress);
      const ignition = await buildLayer('ignition', progress);
      const document = toYaml(hostDocument(site, seeds));
      const config = join(scratch, `${site.name}.ign`);
      for (const release of ['3.0.0', '3.1.0', '3.2.0', '3.3.0']) {
        const options = ['--format', 'ignition', '--ignition-version', release, ...(fetched ? fetchOptions() : [])];
        writeFileSync(config, await wrap(document, ...options));
        const valid = spawnSync(join(ignition, 'usr/bin/ignition-validate'), [config], { encoding: 'utf8' });
        assert.deepEqual([valid.status, valid.stdout, valid.stderr], [0, '', ''], release);
      }
      const layer = join(scratch, `layer-${site.name}`);
      spawnSync('cp', ['-a', fetched ? mirror : image, layer]);
      // Ignition enables units by a preset, which systemd follows at the first boot. Debian presets everything to enabled.
      mkdirSync(join(layer, 'etc/systemd/system-preset'), { recursive: true });
      writeFileSync(join(layer, 'etc/systemd/system-preset/99-lab.preset'), 'disable *\n');
      const script = join(import.meta.dirname, '../support/ignition.sh');
      const run = spawnSync('bash', [script, root, ignition, layer, config], { encoding: 'utf8' });
      assert.equal(run.status, 0, `${run.stdout}\n${run.stderr}`);

      const node = await fleet.start({ ...site, lower: [layer], machineId: 'uninitialized', withoutAgent: true });
      const unit = 'machineadm-provision.service';
      const ended = await node.machine.exec(
        ['sh', '-c', `until systemctl show -p SubState ${unit} | grep -Eq 'exited|failed'; do sleep 1; done`],
        { timeoutMs: 4 * MINUTE },
      );
      assert.equal(ended.status, 0);
      assert.equal(
        (await node.status()).outcome,
        'Succeeded',
        await node.machine.shell(`journalctl -u ${unit} -o cat`),
      );
      assert.equal(await node.read('/root/fooled'), undefined);
      assert.match(
        await node.machine.shell('stat -c "%a %U:%G" /etc/machineadm /etc/machineadm/bootstrap.yaml'),
        /^700 root:root\n600 root:root\n$/,
      );
      await fleet.remove(node);
    });
  }
});
