import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hosts } from '../../../../src/features/hosts/index.ts';
import { loaded, problemsOf } from '../../../support/document.ts';
import { facts } from '../../../support/facts.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const HOSTS = '/etc/hosts';
const DROP_IN = '/etc/cloud/cloud.cfg.d/99-machineadm-hosts.cfg';
const DEBIAN = '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n';
const OWN = '# BEGIN machineadm: own name\n127.0.1.1 node-1\n# END machineadm: own name\n';
const block = (lines: string) => `# BEGIN machineadm: hosts of n1\n${lines}# END machineadm: hosts of n1\n`;
const machine = (text: string, more: MemoryMachine['files'] = {}, programs: MemoryMachine['programs'] = {}) =>
  memoryHost({ files: { [HOSTS]: text, ...more }, programs });
const wanted = async (text: string) => (await loaded(`host: {hosts: ${text}}\n`)).model;
const options = { facts: facts({ hostname: 'node-1' }) };

describe('hosts', () => {
  test('absent leave the machine alone', async () => {
    const host = machine(`${DEBIAN}${OWN}`);
    assert.deepEqual(await planned(hosts, host, (await loaded('host: {}\n')).model, options), []);
  });

  test('absent beside a host name give the machine its own name', async () => {
    const host = machine(DEBIAN);
    const run = await runStep(hosts, host, (await loaded('host: {hostname: node-1}\n')).model, options);
    assert.deepEqual(
      run.changes.map(({ id }) => id),
      ['hosts/own-name'],
    );
    assert.equal(host.text(HOSTS), `${DEBIAN}${OWN}`);
    assert.deepEqual(run.left, []);
  });

  for (const [who, document] of [
    ['a file of the document', 'files: [{path: /etc/./hosts, content: x}]'],
    ['a link', 'links: [{path: /etc/hosts, target: /run/hosts}]'],
    ['nobody, as the document removes it', 'files: [{path: /etc/hosts, absent: true}]'],
  ] as const) {
    test(`absent beside a host name leave /etc/hosts alone where ${who} has all of it`, async () => {
      const { model } = await loaded(`host:\n  hostname: node-1\n  ${document}\n`);
      assert.deepEqual(await planned(hosts, machine(DEBIAN), model, options), []);
    });
  }

  test('absent with a host name and lines of a file do not conflict', async () => {
    const lines = 'files: [{path: /etc/hosts, append: true, content: "10.0.0.1 x\\n"}]';
    const { model } = await loaded(`host:\n  hostname: node-1\n  ${lines}\n`);
    assert.equal((await planned(hosts, machine(DEBIAN), model, options)).length, 1);
  });

  test('of Windows are none, whatever its name', async () => {
    const { model } = await loaded('host: {platform: Windows, hostname: node-1}\n');
    assert.equal(hosts.desired(model, options.facts), undefined);
  });

  test('become a block for the image and one for this machine; mode, owner and other lines stay', async () => {
    const host = memoryHost({ files: { [HOSTS]: { content: DEBIAN, mode: 0o640, uid: 3, gid: 4 } } });
    const model = await wanted(
      '{entries: [{address: 10.0.0.10, names: [api.example.com, api]}, {address: "fd00::1", names: [b]}]}',
    );
    const run = await runStep(hosts, host, model, options);
    assert.deepEqual(
      run.changes.map(({ summary, scope }) => [summary, scope]),
      [
        ['/etc/hosts: write the entries of the document', 'base'],
        ["/etc/hosts: add the machine's own name", 'node'],
      ],
    );
    assert.match(run.changes[0]?.diff ?? '', /^\+10\.0\.0\.10 api\.example\.com api$/m);
    assert.equal(host.text(HOSTS), `${DEBIAN}${block('10.0.0.10 api.example.com api\nfd00::1 b\n')}${OWN}`);
    assert.deepEqual(await host.stat(HOSTS).then((stat) => [stat?.mode, stat?.uid, stat?.gid]), [0o640, 3, 4]);
    assert.deepEqual(run.left, []);
    assert.deepEqual(await planned(hosts, host, model, options), []);
  });

  test('of an image are only the entries', async () => {
    const changes = await planned(
      hosts,
      machine(DEBIAN),
      await wanted('{entries: [{address: 10.0.0.1, names: [a]}]}'),
      {
        ...options,
        scope: 'base',
      },
    );
    assert.deepEqual(
      changes.map(({ id }) => id),
      ['hosts/entries'],
    );
  });

  test('changed by hand are put back in their place, and of an empty part the blocks go', async () => {
    const after = '10.9.9.9 mine # kept\n';
    const host = machine(`${DEBIAN}${block('10.0.0.2 a b\n')}${after}`);
    const model = await wanted('{entries: [{address: 10.0.0.1, names: [a]}], ownName: false}');
    const run = await runStep(hosts, host, model, options);
    assert.equal(host.text(HOSTS), `${DEBIAN}${block('10.0.0.1 a\n')}${after}`);
    assert.deepEqual(run.left, []);
    assert.deepEqual((await runStep(hosts, host, await wanted('{ownName: false}'), options)).left, []);
    assert.equal(host.text(HOSTS), `${DEBIAN}${after}`);
  });

  test('the own name is that of the document, with its short form, and follows it', async () => {
    const host = machine(`${DEBIAN}${OWN}`);
    const { model } = await loaded('host: {hostname: node-7.example.com, hosts: {}}\n');
    await runStep(hosts, host, model, options);
    assert.equal(host.text(HOSTS), `${DEBIAN}${OWN.replace('node-1', 'node-7.example.com node-7')}`);
  });

  for (const [why, text, document, more = {}, programs = {}] of [
    ['a line has it', `${DEBIAN}10.0.0.4 NODE-1.example.com Node-1\n`, '{}'],
    [
      'an entry of the document has it',
      `${DEBIAN}${block('10.0.0.4 node-1\n')}`,
      '{entries: [{address: 10.0.0.4, names: [node-1]}]}',
    ],
    [
      'nss-myhostname answers',
      DEBIAN,
      '{}',
      { '/etc/nsswitch.conf': 'hosts: files myhostname dns\n' },
      { getent: () => ({}) },
    ],
    ['the document does not want it', DEBIAN, '{ownName: false}'],
  ] as const) {
    test(`where ${why}, the own name is not added`, async () => {
      assert.deepEqual(await planned(hosts, machine(text, more, programs), await wanted(document), options), []);
    });
  }

  for (const [why, more] of [
    ['not in use', { '/etc/nsswitch.conf': 'hosts: files dns # myhostname\n' }],
    ['not installed', { '/etc/nsswitch.conf': 'hosts: files myhostname\n' }],
  ] as const) {
    test(`an nss-myhostname that is ${why} does not count`, async () => {
      const status = why === 'not installed' ? 2 : 0;
      const host = machine(DEBIAN, more, { getent: () => ({ status }) });
      assert.deepEqual((await planned(hosts, host, await wanted('{}'), options)).length, 1);
    });
  }

  test('a machine without a name of its own gets none', async () => {
    for (const hostname of ['localhost', '(none)', '']) {
      assert.deepEqual(await planned(hosts, machine(DEBIAN), await wanted('{}'), { facts: facts({ hostname }) }), []);
    }
  });

  test('another address for a name is reported by plan and run, and its line stays', async () => {
    const host = machine('10.0.0.9 api # old\nfd00::9 api\n');
    const run = await runStep(
      hosts,
      host,
      await wanted('{entries: [{address: 10.0.0.1, names: [API]}], ownName: false}'),
      options,
    );
    assert.equal(
      run.changes[0]?.summary,
      '/etc/hosts: write the entries of the document; but another line of /etc/hosts has API at 10.0.0.9',
    );
    assert.deepEqual(run.warnings, ['another line of /etc/hosts has API at 10.0.0.9: correct or remove that line']);
    assert.equal(host.text(HOSTS), `10.0.0.9 api # old\nfd00::9 api\n${block('10.0.0.1 API\n')}`);
  });

  test('cloud-init may not rewrite the file, and may again when nothing of ours is in it', async () => {
    const host = machine(DEBIAN, {
      '/etc/cloud/cloud.cfg': 'manage_etc_hosts: false\n',
      '/etc/cloud/cloud.cfg.d/01_debian_cloud.cfg': 'apt: {}\nmanage_etc_hosts: true\n',
      '/etc/cloud/cloud.cfg.d/README': 'manage_etc_hosts: false\n',
    });
    const run = await runStep(hosts, host, await wanted('{}'), options);
    assert.deepEqual(
      run.changes.map(({ id, scope }) => `${id} ${scope}`),
      ['hosts/own-name node', 'hosts/cloud-init node'],
    );
    assert.match(host.text(DROP_IN) ?? '', /^manage_etc_hosts: false$/m);
    assert.deepEqual([run.left, run.warnings], [[], []]);
    await runStep(hosts, host, await wanted('{ownName: false}'), options);
    assert.equal(host.text(DROP_IN), undefined);
  });

  test('cloud-init that does not touch the file, or has nothing to lose there, gets no file', async () => {
    const manages = { '/etc/cloud/cloud.cfg': 'manage_etc_hosts: localhost\n' };
    assert.deepEqual(
      await planned(hosts, machine(`${DEBIAN}127.0.1.1 node-1\n`, manages), await wanted('{}'), options),
      [],
    );
    const off = { ...manages, '/etc/cloud/cloud.cfg.d/10.cfg': 'manage_etc_hosts: "no"\n' };
    assert.equal((await planned(hosts, machine(DEBIAN, off), await wanted('{}'), options)).length, 1);
  });

  test('user data, which overrides every file, is reported', async () => {
    const host = machine(DEBIAN, {
      '/var/lib/cloud/instance/cloud-config.txt': '#cloud-config\nmanage_etc_hosts: true\n',
    });
    const run = await runStep(hosts, host, await wanted('{}'), options);
    assert.match(run.warnings.join(), /user data of this instance has manage_etc_hosts: remove it there/);
    assert.deepEqual(run.left, []);
    assert.equal(host.text(DROP_IN), undefined);
  });

  for (const [text, problem] of [
    [
      '{entries: [{address: 10.0.0.256, names: [a]}]}',
      /host\.hosts\.entries\[0\]\.address: (?:".+" is )?not an IP address/,
    ],
    ['{entries: [{address: 10.0.0.1, names: []}]}', /host\.hosts\.entries\[0\]\.names: an address without a name/],
    ['{entries: [{address: 10.0.0.1, names: ["a b"]}]}', /not a host name/],
    [
      '{entries: [{address: 10.0.0.1, names: [a]}, {address: 10.0.0.1, names: [b]}]}',
      /10\.0\.0\.1 is already host\.hosts\.entries\[0\]/,
    ],
    ['{}, platform: Windows', /host\.hosts: not on Windows: its hosts file is that of the image/],
    ['{}, files: [{path: /etc/hosts, content: x}]', /host\.hosts/],
  ] as const) {
    test(`${text} is refused`, async () => {
      const problems = await problemsOf(`host: {hosts: ${text}}\n`);
      assert.match(problems.join('\n'), problem);
      assert.equal(problems.length, 1, problems.join('\n'));
    });
  }
});
