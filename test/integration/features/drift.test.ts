import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDocument } from '../../../src/pipeline/load.ts';
import { makePlan } from '../../../src/pipeline/plan.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { provision } from '../../support/provision.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8s0Yv5zv6m2bJf0l5VfBqk1Jb3r8y8kQh8o2T1xq9Z grace';

/**
 * What real tools of a machine without a service manager can be asked for; swap is that of the one kernel of all machines, and
 * certificate-authorities.test.ts has the tools of certificates.
 */
const DOCUMENT = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: drift}
host:
  hostname: drift-1
  hosts: {entries: [{address: 10.0.0.10, names: [api.drift.example]}]}
  kernelModules: [overlay]
  sysctl: {net.ipv4.ip_forward: 1, net.ipv4.conf.lo.arp_announce: 2}
  groups: [{name: drifters, gid: 4998}]
  users:
    - name: grace
      uid: 4711
      gecos: Grace
      primaryGroup: drifters
      groups: [users]
      home: /srv/grace
      shell: /bin/sh
      passwordHash: "$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/"
      locked: false
      sudo: "ALL=(ALL) NOPASSWD:ALL"
      sshAuthorizedKeys: ["${KEY}"]
  proxy: {http: "http://proxy.example:3128", for: [environment]}
  directories:
    - {path: /srv/app, mode: "0750", owner: "grace:drifters", recursive: {mode: "0640", owner: "grace:drifters"}}
  files:
    - {path: /srv/drift/file, content: "a = 1\\n", mode: "0640", owner: "grace:drifters"}
    - {path: /srv/drift/lines, content: "b = 2\\n", append: true}
    - {path: /srv/drift/block, content: "c = 3\\n", block: {name: settings}}
    - {path: /srv/drift/gone, absent: true}
  links: [{path: /srv/drift/link, target: file}]
`;

/** By hand, in this order, with the changes that a plan has to show for each. The table of test/thorough/pipeline/drift.test.ts has more. */
const DRIFTS: readonly (readonly [shell: string, ...finds: readonly string[]])[] = [
  ['echo drift-2 >/etc/hostname', 'hostname/file'],
  ['echo drift-2 >/proc/sys/kernel/hostname', 'hostname/running'],
  ['sed -i s/10.0.0.10/10.0.0.11/ /etc/hosts', 'hosts/entries'],
  ['chmod 0600 /etc/modules-load.d/91-machineadm-drift.conf', 'kernel-modules/file'],
  ['echo 0 >/proc/sys/net/ipv4/conf/lo/arp_announce', 'sysctl/net/ipv4/conf/lo/arp_announce'],
  ['chown 7:7 /etc/sysctl.d/99-zzz-machineadm-drift.conf', 'sysctl/file'],
  ['usermod --shell /bin/false grace', 'users/grace/shell'],
  ['usermod --comment Hopper grace', 'users/grace/gecos'],
  ['usermod --gid users grace', 'users/grace/primary-group'],
  ['usermod --lock grace', 'users/grace/password'],
  ['usermod --expiredate 1 grace', 'users/grace/expiry'],
  ['gpasswd --delete grace users', 'users/grace/groups'],
  ['chmod 0644 /etc/sudoers.d/90-machineadm-grace', 'users/grace/sudo'],
  ['rm /srv/grace/.ssh/authorized_keys', 'users/grace/authorized-keys'],
  ['sed -i s/3128/3129/ /etc/environment', 'proxy/environment'],
  ['chmod 0777 /srv/app', 'directories/srv/app'],
  ['chown 0:0 /srv/app/file'],
  ['echo more >>/srv/drift/file', 'files//srv/drift/file'],
  ['chmod 0666 /srv/drift/file'],
  ['chown 0:0 /srv/drift/file'],
  ['echo theirs >/srv/drift/lines', 'files//srv/drift/lines'],
  ['sed -i "s/c = 3/c = 4/" /srv/drift/block', 'files//srv/drift/block'],
  ['touch /srv/drift/gone', 'removals/srv/drift/gone'],
  ['ln -sfn /bin/false /srv/drift/link', 'links/srv/drift/link'],
];

/** Where the document has something, with modes, owners and contents. */
function look(): readonly string[] {
  const places = ['/srv', '/etc/hostname', '/etc/hosts', '/etc/environment', '/etc/passwd', '/etc/shadow'];
  const more = ['/etc/group', '/etc/sudoers.d', '/etc/sysctl.d', '/etc/modules-load.d'];
  const below = [...places, ...more].flatMap((place) => [
    place,
    ...(existsSync(place) && lstatSync(place).isDirectory()
      ? readdirSync(place, { recursive: true, encoding: 'utf8' }).map((name) => join(place, name))
      : []),
  ]);
  const kernel = ['kernel/hostname', 'net/ipv4/ip_forward', 'net/ipv4/conf/lo/arp_announce'].map(
    (key) => `${key} ${readFileSync(join('/proc/sys', key), 'utf8')}`,
  );
  return [...below.sort().map(describeEntry), ...kernel];
}

function describeEntry(path: string): string {
  const stat = lstatSync(path);
  const content = stat.isSymbolicLink() ? readlinkSync(path) : stat.isFile() ? readFileSync(path, 'utf8') : '';
  // shadow(5) has the day of the last change of a password.
  const text = path === '/etc/shadow' ? content.replace(/^([^:]*:[^:]*):\d+:/gm, '$1:') : content;
  return `${path} ${stat.mode.toString(8)} ${stat.uid}:${stat.gid} ${text}`;
}

inThrowAwayMachine(import.meta.filename, () => {
  const path = '/srv/drift.yaml';

  /** The ids of what a run would change, without what follows from it. */
  async function plan(): Promise<readonly string[]> {
    const { changes, problems } = await makePlan(await openDocument([path], '0.1.0'), 'all');
    assert.deepEqual(problems, []);
    const ids = changes.map(({ id }) => id);
    return ids.filter((id) => !id.startsWith('follow-up/')).sort();
  }

  async function run(): Promise<void> {
    const { outcome, failure } = await provision(path);
    assert.deepEqual([outcome, failure], ['Succeeded', undefined]);
  }

  test('every drift is shown by its id, one run repairs them all, and the next changes nothing', async () => {
    execFileSync('sh', ['-c', 'mkdir -p /srv/drift /srv/app && touch /srv/app/file && echo theirs >/srv/drift/lines']);
    writeFileSync(path, DOCUMENT);
    await run();
    assert.deepEqual(await plan(), []);
    const before = look();
    for (const [shell] of DRIFTS) execFileSync('sh', ['-euc', shell], { stdio: 'pipe' });
    assert.deepEqual(await plan(), DRIFTS.flatMap(([, ...finds]) => finds).sort());
    await run();
    assert.deepEqual(await plan(), []);
    assert.deepEqual(look(), before);
  });
}, ['visudo']);
