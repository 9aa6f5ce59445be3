import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs, {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { reset } from '../../src/commands/reset/run.ts';
import { openHost } from '../../src/host/index.ts';
import type { Host } from '../../src/host/seam/host.ts';
import { agent } from '../support/agent.ts';
import { loopDevice } from '../support/loop-device.ts';
import { memoryHost } from '../support/memory-host.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { needs } from '../support/needs.ts';
import { hostDocument, Killer, memoryJournal, provisionHost, resetHost } from '../support/undo-bench.ts';

const ROOT = '/srv/undo';
const TREES = ['/etc', '/home', ROOT, '/usr/local/share/ca-certificates', '/etc/ssl/certs'];
/** Backups and locks of shadow-utils, and what ldconfig and others keep of their own. */
const NOT_COMPARED = /^\/etc\/(?:passwd-|shadow-|group-|gshadow-|subuid-|subgid-|\.pwd\.lock|\.updated|ld\.so\.cache)/;
const NETWORK_SETTINGS = ['ip_forward', 'conf/all/rp_filter', 'conf/lo/forwarding', 'conf/all/accept_redirects'];

/** The tools of libcap, which most systems have. */
const HAS_CAPABILITIES = ['/usr/sbin/setcap', '/sbin/setcap'].some((path) => existsSync(path));

const shell = (script: string): string => execFileSync('sh', ['-ec', script], { encoding: 'utf8' });

/** Every path with its type, mode, owner, content, and what makes it more than that: its file capabilities. */
function treeOf(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => !NOT_COMPARED.test(path))
    .sort()
    .map((path) => {
      const stat = lstatSync(path);
      const content = stat.isSymbolicLink() ? readlinkSync(path) : stat.isFile() ? readFileSync(path, 'latin1') : '';
      return `${path} ${stat.mode.toString(8)} ${stat.uid}:${stat.gid} ${content}`;
    });
}

/** The state of the machine as far as a document below can change it. */
function stateOfMachine(): readonly string[] {
  return [
    ...TREES.filter(existsSync).flatMap(treeOf),
    ...NETWORK_SETTINGS.map((name) => `${name} ${readFileSync(`/proc/sys/net/ipv4/${name}`, 'utf8')}`),
    shell(`hostname; ${HAS_CAPABILITIES ? 'getcap -r /srv; ' : ''}cat /proc/self/mountinfo | cut -d' ' -f5- | sort`),
  ];
}

function assertSame(before: readonly string[], when: string): void {
  const now = stateOfMachine();
  const more = now.filter((line) => !before.includes(line));
  const less = before.filter((line) => !now.includes(line));
  assert.deepEqual({ more, less }, { more: [], less: [] }, when);
}

inThrowAwayMachine(import.meta.filename, () => {
  const real = openHost({ runId: 'test' });

  /** The real machine, with services of its own: it has no systemd. */
  function machine(): Host {
    const { services, service } = memoryHost({ services: { chrony: {}, cron: { active: true, enabled: true } } });
    return { ...real, services, service };
  }

  function lay(): void {
    spawnSync('umount', [`${ROOT}/data`]);
    rmSync(ROOT, { recursive: true, force: true });
    rmSync('/var/lib/machineadm', { recursive: true, force: true });
    mkdirSync(`${ROOT}/shared`, { recursive: true });
    chmodSync(ROOT, 0o755);
    writeFileSync(`${ROOT}/tool`, '#!/bin/sh\n', { mode: 0o755 });
    chmodSync(`${ROOT}/tool`, 0o755);
    if (HAS_CAPABILITIES) shell(`setcap cap_net_bind_service=ep ${ROOT}/tool`);
    writeFileSync(`${ROOT}/shared/theirs`, 'theirs\n', { mode: 0o600 });
    chownSync(`${ROOT}/shared/theirs`, 1234, 1235);
    symlinkSync('shared', `${ROOT}/link`);
  }

  const documentOf = (device: string): string => `host:
  hostname: undone-1
  timezone: Europe/Zurich
  sysctl: {net.ipv4.ip_forward: 1, net.ipv4.conf.all.rp_filter: 1}
  groups: [{name: undone, gid: 4321}]
  users: [{name: grace, uid: 4322, groups: [undone], shell: /bin/sh, sshAuthorizedKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZvb2Jhcg grace]}]
  storage: {mounts: [{device: {path: ${device}}, path: ${ROOT}/data, type: ext4}]}
  directories: [{path: ${ROOT}/shared, recursive: {owner: "grace:undone", mode: "0640"}}]
  files:
    - {path: ${ROOT}/tool, content: "ours\\n", mode: "0700"}
    - {path: ${ROOT}/new/deep/file, content: "ours\\n"}
    - {path: ${ROOT}/data/file, content: "on the device\\n"}
    - {path: /etc/hosts, content: "127.0.0.1 localhost undone-1\\n"}
  links: [{path: ${ROOT}/link, target: new, force: true}]
  services: [{name: cron, enabled: false, state: Stopped}]
`;

  describe('a reset with the tools of the machine', () => {
    test('restores files with their capabilities, accounts, mounts and settings of the kernel, though it is killed in between', {
      skip: needs('loop devices', 'mkfs.ext4'),
    }, async () => {
      using device = loopDevice(16);
      shell(`mkfs.ext4 -q ${device.path}`);
      const model = await hostDocument(documentOf(device.path));
      lay();
      const before = stateOfMachine();
      const journal = memoryJournal();
      const host = machine();
      await provisionHost(host, model, journal);
      if (HAS_CAPABILITIES) assert.equal(shell(`getcap ${ROOT}/tool`), '');
      assert.equal(shell(`id -un grace; findmnt -n -o FSTYPE ${ROOT}/data`), 'grace\next4\n');
      // In the middle of the reset, with some of all that behind it and some before it.
      await resetHost(host, journal, new Killer(9));
      const { planned, done } = await resetHost(host, journal);
      assert.deepEqual(done, planned);
      assertSame(before, 'after the reset');
      const { active, enabled } = await host.service('cron');
      assert.deepEqual({ active, enabled }, { active: true, enabled: true });
    });
  });

  describe('machineadm reset', () => {
    const DOCUMENT = '/tmp/document.yaml';
    const STATE = '/var/lib/machineadm';

    test('that is killed at any change or record is completed by the next, and then there is nothing to reset', async () => {
      const document = {
        apiVersion: 'machineadm.dev/v1alpha1',
        kind: 'MachineBootstrap',
        metadata: { name: 'undone' },
        host: {
          files: [
            { path: `${ROOT}/tool`, content: 'ours' },
            { path: `${ROOT}/new/file`, content: 'ours' },
          ],
          links: [{ path: `${ROOT}/link`, target: 'new', force: true }],
        },
        reporting: { sinks: [] },
      };
      writeFileSync(DOCUMENT, JSON.stringify(document), { mode: 0o600 });
      lay();
      const before = stateOfMachine();
      const run = await agent(['provision', '-d', DOCUMENT]);
      assert.equal(run.status, 0, run.stderr);
      shell(`mkdir /tmp/provisioned; cp -a ${ROOT} ${STATE} /tmp/provisioned/`);
      const again = async (): Promise<readonly string[]> => {
        const lines: string[] = [];
        const line = (text: string): void => void lines.push(text);
        await reset({ leaveFiles: false, confirm: async () => true, signal: new AbortController().signal, line });
        return lines;
      };
      let deaths = 0;
      for (let at = 1; ; at += 1) {
        shell(
          `rm -rf ${ROOT} ${STATE}; cp -a /tmp/provisioned/undo /srv/; cp -a /tmp/provisioned/machineadm /var/lib/`,
        );
        // The agent keeps directories open until the end of a turn, and these are others now.
        await setImmediate();
        using death = dyingAt(at);
        const isWhole = await again().then(
          () => true,
          () => false,
        );
        death[Symbol.dispose]();
        if (isWhole) break;
        deaths += 1;
        // Where it died at its very last change, all is done.
        if (existsSync(`${STATE}/journal`)) await again();
        assertSame(before, `died at change ${at}`);
        await again(); // Nothing is left to undo, which is no error.
      }
      assert.ok(deaths > 10, `${deaths} changes`);
      assertSame(before, 'undisturbed');
    });
  });
});

/** From the nth change that this process makes to files on, journal included, nothing happens any more. */
function dyingAt(at: number): Disposable {
  const names = [
    'writeSync',
    'writeFileSync',
    'linkSync',
    'renameSync',
    'unlinkSync',
    'rmdirSync',
    'mkdirSync',
    'symlinkSync',
    'chmodSync',
    'chownSync',
  ] as const;
  const originals = Object.fromEntries(names.map((name) => [name, fs[name]]));
  let changes = 0;
  for (const name of names) {
    const change: (...args: readonly never[]) => unknown = fs[name];
    const dying = (...args: readonly never[]): unknown => {
      changes += 1;
      if (changes >= at) throw new Error('died');
      return change(...args);
    };
    Object.assign(fs, { [name]: dying });
  }
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]() {
      Object.assign(fs, originals);
      syncBuiltinESMExports();
    },
  };
}
