import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type DownloadDigests, renderDownloadScript } from '@machineadm/user-data/download-script.ts';
import { stringify } from 'yaml';
import { buildLayer } from '../../scripts/lab/artefacts.ts';
import { GATEWAY } from '../../scripts/lab/host-changes.ts';
import { makeRelease } from '../../scripts/release.ts';
import { buildInfo } from '../../src/cli/build-info.ts';
import { parseManifest } from '../../src/trust/manifest.ts';
import { noCloudSeed } from '../support/cloud-init-machine.ts';
import { Fleet, LAB, type Node, progress } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { flipped, newKey } from '../support/release.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');
const SCRIPT = '/var/lib/machineadm-download.sh';
const PROGRAM = '/usr/local/bin/machineadm';
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

describe('a machine without machineadm in its image', { skip, timeout: 30 * MINUTE }, () => {
  let scratch = '';
  let release = '';
  let digests: DownloadDigests;
  const { version } = buildInfo();

  const fleet = Fleet.ofSuite(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'machineadm-fetch-e2e-'));
    const from = join(scratch, 'built');
    mkdirSync(from);
    copyFileSync(join(ROOT, 'dist/machineadm'), join(from, 'machineadm-linux-amd64'));
    const wish = { version, commit: 'e2e', createdAt: new Date(), minimumVersion: version, revokedKeys: [] };
    release = await makeRelease({ ...wish, from, to: join(scratch, 'release') }, newKey());
    const [gzip, xz] = parseManifest(readFileSync(join(release, 'manifest.json'))).artefacts;
    assert.ok(gzip !== undefined && xz !== undefined);
    digests = { gzip: gzip.sha256, xz: xz.sha256, program: gzip.program.sha256 };
  });
  after(() => {
    if (scratch !== '') rmSync(scratch, { recursive: true });
  });

  /** Two mirrors on the lab's side of its bridge, which is there as soon as the machine begins to boot: one lies. */
  async function openMirrors(): Promise<{ readonly asked: string[]; close(): void }> {
    const asked: string[] = [];
    const servers: Server[] = [];
    for (const [port, lies] of [
      [8081, true],
      [8082, false],
    ] as const) {
      const server = createServer(({ url = '' }, response) => {
        asked.push(`${port}${url}`);
        const bytes = readFileSync(join(scratch, 'release', url));
        response.end(lies ? flipped(bytes) : bytes);
      });
      for (;;) {
        server.listen(port, GATEWAY);
        const [error] = await Promise.race([once(server, 'listening').then(() => []), once(server, 'error')]);
        if (error === undefined) break;
        await sleep(100);
      }
      servers.push(server);
    }
    return {
      asked,
      close() {
        for (const server of servers) {
          server.closeAllConnections();
          server.close();
        }
      },
    };
  }

  async function boot(name: string, ip: string, ports: readonly number[]): Promise<{ node: Node; asked: string[] }> {
    const script = renderDownloadScript({
      version,
      digests: { amd64: digests },
      locations: ports.map((port) => ({ url: `http://${GATEWAY}:${port}` })),
      deadlineSeconds: 60,
    });
    const document = {
      apiVersion: 'machineadm.dev/v1alpha1',
      kind: 'MachineBootstrap',
      metadata: { name },
      host: { files: [{ path: '/etc/motd', content: 'prepared by machineadm\n' }] },
    };
    const data = `#cloud-config\n${stringify({
      write_files: [
        { path: '/etc/machineadm/bootstrap.yaml', permissions: '0600', content: stringify(document) },
        { path: SCRIPT, permissions: '0700', encoding: 'gz+b64', content: gzipSync(script).toString('base64') },
      ],
      runcmd: [[SCRIPT, 'provision', '-d', '/etc/machineadm/bootstrap.yaml']],
    })}`;
    const cloudInit = await buildLayer('cloud-init', progress);
    const files = noCloudSeed(data, name);
    const [node, mirrors] = await Promise.all([
      fleet.startBare({ name, ip, lower: [cloudInit], files }),
      openMirrors(),
    ]);
    await node.machine.exec(['cloud-init', 'status', '--wait']);
    mirrors.close();
    return { node, asked: mirrors.asked };
  }

  test('fetches it at its first boot in spite of a mirror that serves bad data, and provisions itself', {
    timeout: 10 * MINUTE,
  }, async () => {
    const { node, asked } = await boot('e2e-fetch1', '10.99.0.81', [8081, 8082]);
    const log = (await node.read('/var/log/cloud-init-output.log')) ?? '';
    assert.match(log, /8081: machineadm-\S+ has the SHA-256 [0-9a-f]{64}, not [0-9a-f]{64}\n/);
    assert.match(log, new RegExp(`installed ${PROGRAM} ${version.replaceAll('.', '\\.')} \\(${digests.program}\\)`));
    assert.deepEqual(
      asked.map((request) => request.slice(0, 4)),
      ['8081', '8082'],
      'the one that lied is asked once',
    );
    assert.match((await node.machine.exec(['cloud-init', 'status', '--long'])).stdout, /^status: done$/m);
    const status = await node.status();
    assert.deepEqual([status.outcome, status.exitCode], ['Succeeded', 0]);
    assert.equal(await node.read('/etc/motd'), 'prepared by machineadm\n');
    assert.equal((await node.machine.shell(`stat -c '%a %U' ${PROGRAM}`)).trim(), '755 root');
    assert.equal((await node.machine.shell('ls -A /usr/local/bin')).trim(), 'machineadm');

    const again = await node.machine.exec([SCRIPT, '--version']);
    assert.deepEqual([again.status, again.stdout], [0, `${version}\n`], 'what is there is asked for nowhere');
    await fleet.remove(node);
  });

  test('stays without it when every mirror serves bad data, and cloud-init reports an error', {
    timeout: 10 * MINUTE,
  }, async () => {
    const { node } = await boot('e2e-fetch2', '10.99.0.82', [8081]);
    const log = (await node.read('/var/log/cloud-init-output.log')) ?? '';
    assert.match(log, /failed: .*has the SHA-256 .*\[68\]/);
    assert.match((await node.machine.exec(['cloud-init', 'status', '--long'])).stdout, /^status: error$/m);
    assert.equal((await node.machine.shell('ls -A /usr/local/bin')).trim(), '');
    await fleet.remove(node);
  });
});
