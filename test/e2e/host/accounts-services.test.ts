import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newSeeds } from '../../support/documents.ts';
import { DOCUMENT, Fleet, LAB, type Node, told } from '../../support/lab.ts';
import { needs } from '../../support/needs.ts';
import { provisionTwice } from '../../support/twice.ts';

const MINUTE = 60_000;
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZvb2Jhcg ada@example.com';
const HASH = '$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/';
const UNIT =
  '[Unit]\nDescription=Lab\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n';

/** The kernel's clock is that of the host and of all machines: no chronyd in here may move it (chronyd(8), -x). */
const HANDS_OFF = `printf 'DAEMON_OPTS="-F 1 -x"\\n' >/etc/default/chrony`;

/** What the first run makes, and what the later ones keep or drop of it. */
const HOST = {
  groups: [{ name: 'operators', gid: 4000 }],
  users: [
    {
      name: 'ada',
      uid: 4711,
      groups: ['operators'],
      shell: '/bin/bash',
      passwordHash: { secret: 'hash' },
      sudo: 'ALL=(ALL) NOPASSWD:ALL',
      sshAuthorizedKeys: [KEY],
    },
    { name: 'gone', inactive: true },
  ],
  // chrony needs longer on a busy machine.
  time: { servers: ['10.99.0.82'], synchronized: { within: '1s', timeout: '3m' } },
  limits: { services: { nofile: { soft: 4321, hard: 15432 } }, sessions: { ada: { nofile: 2345 } } },
  files: [{ path: '/etc/systemd/system/lab-app.service', content: UNIT }],
  services: [
    {
      name: 'lab-app',
      enabled: true,
      state: 'Started',
      dropIns: [{ name: '10-lab.conf', content: '[Service]\nEnvironment=COLOUR=blue\n' }],
    },
    { name: 'systemd-networkd-wait-online', masked: true },
  ],
};

function documentOf(host: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: 'accounts' },
    secrets: { hash: { value: HASH } },
    host,
  };
}

describe('accounts, time and services on a real systemd', {
  skip: needs(...LAB),
  timeout: 15 * MINUTE,
}, () => {
  const seeds = newSeeds({ password: HASH });
  let node: Node;

  const fleet = Fleet.ofSuite(
    async () => {
      node = await fleet.start({ name: 'e2e-a1', ip: '10.99.0.81' });
      // Without a configuration the kubelet ends and is started again and again, which is not what is looked at here.
      await node.machine.shell(`${HANDS_OFF}; systemctl disable --now kubelet`);
    },
    { kind: 'host' },
  );

  const show = async (unit: string, property: string): Promise<string> =>
    (await node.machine.shell(`systemctl show ${unit} --property=${property} --value`)).trim();

  test('match the document and the plan, and a second run changes nothing', async () => {
    const server = await fleet.start({ name: 'e2e-a2', ip: '10.99.0.82' });
    await server.machine.shell(
      `${HANDS_OFF}; printf 'local stratum 5\\nallow\\n' >/etc/chrony/conf.d/serve.conf; systemctl restart chrony`,
    );
    // The server is part of the scene: it answers this machine before the agent is asked to rely on it.
    await node.machine.shell("chronyd -x -Q -t 30 'pidfile /run/probe.pid' 'server 10.99.0.82 iburst'");
    const document = documentOf(HOST);
    await provisionTwice(node, document, seeds);
    await fleet.remove(server);

    // What is started from now on has the limits: a service by systemd's defaults, a session by pam_limits.
    const limits =
      "systemd-run --wait --pipe --quiet sh -c 'ulimit -Sn; ulimit -Hn'; su - ada -c 'ulimit -Sn; ulimit -Hn'";
    assert.deepEqual((await node.machine.shell(limits)).trim().split('\n'), ['4321', '15432', '2345', '2345']);

    assert.equal(
      (await node.machine.shell('id ada')).trim(),
      'uid=4711(ada) gid=4711(ada) groups=4711(ada),4000(operators)',
    );
    assert.equal((await node.machine.shell('getent shadow ada')).split(':')[1], `!${HASH}`);
    assert.equal((await node.machine.shell('setpriv --reuid ada --regid ada --init-groups sudo -n id -u')).trim(), '0');
    assert.equal((await node.machine.shell('stat -c "%a %U" /etc/sudoers.d/90-machineadm-ada')).trim(), '440 root');
    assert.equal((await node.machine.shell('stat -c "%a %U" /home/ada/.ssh/authorized_keys')).trim(), '600 ada');
    assert.equal((await node.machine.shell('getent shadow gone')).trim().split(':')[7], '1');
    assert.match(await node.machine.shell('chronyc -n -c sources'), /^\^,\*,10\.99\.0\.82,/m);
    assert.deepEqual(
      [
        await show('lab-app', 'ActiveState'),
        await show('lab-app', 'UnitFileState'),
        await show('lab-app', 'Environment'),
      ],
      ['active', 'enabled', 'COLOUR=blue'],
    );
    assert.equal(await show('systemd-networkd-wait-online', 'LoadState'), 'masked');
  });

  test('a changed unit or drop-in restarts its service, and nothing else', async () => {
    const chrony = await show('chrony', 'MainPID');
    const before = await show('lab-app', 'MainPID');
    const { limits: _limits, services, ...kept } = HOST;
    const document = documentOf({
      ...kept,
      time: { servers: HOST.time.servers },
      files: [{ path: '/etc/systemd/system/lab-app.service', content: UNIT.replace('infinity', '100d') }],
      services: services.map(({ dropIns: _dropIns, ...service }) => service),
    });
    const run = await provisionTwice(node, document, seeds);
    // The limits and the drop-in of the document before are gone with it.
    assert.deepEqual(run.changes, [
      'removals/etc/systemd/system.conf.d/91-machineadm-limits-accounts.conf',
      'removals/etc/security/limits.d/91-machineadm-accounts.conf',
      'removals/etc/systemd/system/lab-app.service.d/10-lab.conf',
      'removals/etc/systemd/system/lab-app.service.d',
      'removals/etc/systemd/system.conf.d',
      'follow-up/daemon-reload',
      'files//etc/systemd/system/lab-app.service',
      'services/lab-app/reread',
      'follow-up/daemon-reload',
      'follow-up/restart:lab-app',
    ]);
    assert.notEqual(await show('lab-app', 'MainPID'), before);
    assert.equal(await show('chrony', 'MainPID'), chrony);
  });

  test('are stopped, disabled and unlocked again', async () => {
    const document = documentOf({
      users: [{ name: 'ada', locked: false }, { name: 'gone' }],
      time: { enabled: false },
      files: [{ path: '/etc/systemd/system/lab-app.service', content: UNIT.replace('infinity', '100d') }],
      services: [
        { name: 'lab-app', enabled: false, state: 'Stopped' },
        { name: 'systemd-networkd-wait-online', masked: false },
      ],
    });
    const run = await provisionTwice(node, document, seeds);
    assert.deepEqual(run.changes, [
      'time/chrony/stop',
      'time/chrony/disable',
      'users/ada/unlock',
      'users/ada/sudo',
      'users/gone/expiry',
      'removals/stays/group:operators',
      'services/lab-app/stop',
      'services/lab-app/disable',
      'services/systemd-networkd-wait-online/unmask',
    ]);
    assert.equal((await node.machine.exec(['test', '-e', '/etc/sudoers.d/90-machineadm-ada'])).status, 1);
    assert.equal(await show('chrony', 'ActiveState'), 'inactive');
  });

  describe('faults', () => {
    const FAULTS = [
      ['a sudo rule that visudo refuses', { users: [{ name: 'bob', sudo: 'ALL=(ALL NOPASSWD' }] }, 4, 'SudoersInvalid'],
      ['a user id that is another’s', { users: [{ name: 'bob', uid: 4711 }] }, 4, 'AccountConflict'],
      ['another user id', { users: [{ name: 'ada', uid: 4712 }] }, 4, 'AccountConflict'],
      ['a service that is not there', { services: [{ name: 'nope', state: 'Started' }] }, 4, 'ServiceMissing'],
      [
        'a service that ends at once',
        {
          files: [
            { path: '/etc/systemd/system/lab-bad.service', content: UNIT.replace('/bin/sleep infinity', '/bin/false') },
          ],
          services: [
            { name: 'lab-bad', dropIns: [{ name: 'x.conf', content: '[Service]\nType=oneshot\n' }], state: 'Started' },
          ],
        },
        10,
        'ServiceFailed',
      ],
      [
        'time servers that do not answer',
        { time: { servers: ['127.0.0.9'], synchronized: { timeout: '2s' } } },
        10,
        'ClockNotSynchronized',
      ],
    ] as const;
    for (const [what, host, exitCode, reason] of FAULTS) {
      test(`${what}: ${reason}, and no change remains`, async () => {
        await node.lay(documentOf(host));
        const run = await node.agent(['provision', '-d', DOCUMENT]);
        assert.equal(run.exitCode, exitCode, told(run));
        assert.match(run.stderr, new RegExp(`\\b${reason}\\b`));
        assert.equal((await node.machine.exec(['getent', 'passwd', 'bob'])).status, 2);
        assert.equal((await node.machine.exec(['sh', '-c', 'visudo -c -q'])).status, 0);
      });
    }

    test('are resolved by a correct document', async () => {
      await node.lay(
        documentOf({ users: [{ name: 'bob', sudo: 'ALL=(ALL) NOPASSWD:ALL' }], time: { enabled: false } }),
      );
      const run = await node.provision();
      assert.equal(run.exitCode, 0, run.stderr);
      assert.equal((await node.machine.exec(['getent', 'passwd', 'bob'])).status, 0);
    });
  });
});
