import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { network } from '../../../../src/features/network/index.ts';
import type { Host } from '../../../../src/host/seam/host.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../../src/step/index.ts';
import { loaded, problemsOf } from '../../../support/document.ts';
import { type FakeClock, fakeClock } from '../../../support/fake-clock.ts';
import { errno, type MemoryHost, type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep, type StepRun } from '../../../support/run-step.ts';

const FILE = '/etc/systemd/network/10-eth0.network';
const TRIAL = '/var/lib/machineadm/network-trial.json';
const HEAD = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n';
const DEFAULT = 'eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\n';
const GOOD = '[Match]\nName=eth0\n[Network]\nGateway=10.0.0.1\n';
const BETTER = `${GOOD}DNS=10.0.0.1\n`;
const LOSING = '[Match]\nName=eth0\n[Network]\nAddress=10.0.0.2/24\n';

/** A machine whose networkd has a default route while a file of it has a gateway. */
function machine(files: MemoryMachine['files'] = {}, more: Partial<MemoryMachine> = {}): MemoryHost {
  const host = memoryHost({
    files: { '/proc/net/route': `${HEAD}${DEFAULT}`, ...files },
    programs: {
      networkctl: (_, on) => {
        on.put('/proc/net/route', `${HEAD}${on.text(FILE)?.includes('Gateway=') === true ? DEFAULT : ''}`);
        return {};
      },
    },
    services: { 'systemd-networkd': { active: true } },
    groups: { 'systemd-network': 998 },
    ...more,
  });
  return host;
}

const documentOf = (text: string) => loaded(`host: {network: ${text}}\n`);
const networkd = async (content: string, keep = '{}'): Promise<Model> =>
  (
    await documentOf(
      `{tool: networkd, keep: ${keep}, files: [{name: 10-eth0.network, content: ${JSON.stringify(content)}}]}`,
    )
  ).model;
const preflight = async (host: MemoryHost, model: Model) =>
  (await network.preflight?.(host, model.host.network ?? assert.fail())) ?? [];
const recordOf = ({ notes }: StepRun): StepRecord => ({ ...EMPTY_RECORD, notes });

describe('network', () => {
  let clock: FakeClock;
  beforeEach(() => {
    clock = fakeClock();
  });
  afterEach(() => clock[Symbol.dispose]());

  const run = (host: Host, model: Model, record = EMPTY_RECORD) =>
    clock.until(runStep(network, host, model, { record }));

  test('absent leaves the machine alone', async () => {
    assert.deepEqual(await planned(network, machine({ [FILE]: 'x' }), (await loaded('host: {}\n')).model), []);
  });

  test('is written and applied; a second run changes nothing', async () => {
    const host = machine();
    const model = await networkd(GOOD);
    const done = await run(host, model);
    const [change] = done.changes;
    assert.equal(change?.summary, `systemd-networkd: write ${FILE}; restored if the network is lost`);
    assert.match(change?.diff ?? '', /^\+Gateway=10\.0\.0\.1$/m);
    assert.equal(change?.scope, 'node');
    assert.equal(host.text(FILE), GOOD);
    assert.deepEqual(done.left, []);
    assert.equal(host.text(TRIAL), undefined);
    assert.deepEqual(await planned(network, host, model, { record: recordOf(done) }), []);
    assert.equal(host.log.filter((line) => line === 'run networkctl reload').length, 1);
  });

  for (const [what, change] of [
    ['content', { content: LOSING }],
    ['mode', { content: GOOD, mode: 0o666 }],
    ['owner', { content: GOOD, uid: 7 }],
    ['group', { content: GOOD, gid: 7 }],
  ] as const) {
    test(`a changed ${what} is found and repaired`, async () => {
      const host = machine({ [FILE]: change });
      const done = await run(host, await networkd(GOOD));
      assert.deepEqual(
        done.changes.map(({ summary }) => summary),
        [`systemd-networkd: update ${FILE}; restored if the network is lost`],
      );
      assert.deepEqual(done.left, []);
      const stat = await host.stat(FILE);
      assert.deepEqual([host.text(FILE), stat?.mode, stat?.uid, stat?.gid], [GOOD, 0o644, 0, 0]);
    });
  }

  test('a file that the document has no more is removed, also after the tool changed', async () => {
    const host = machine();
    const record = recordOf(await run(host, await networkd(GOOD)));
    const { model } = await documentOf('{tool: networkd, files: []}');
    host.put('/proc/net/route', HEAD);
    const done = await run(host, model, record);
    assert.equal(done.changes[0]?.summary, `systemd-networkd: remove ${FILE}; restored if the network is lost`);
    assert.equal(host.text(FILE), undefined);
    assert.deepEqual(done.left, []);
    const other = await documentOf('{tool: netplan, files: []}');
    host.put(FILE, GOOD);
    assert.match(
      (await planned(network, host, other.model, { record }))[0]?.summary ?? '',
      /^netplan: remove .*10-eth0/,
    );
  });

  test('prune: Never keeps it', async () => {
    const host = machine();
    const record = recordOf(await run(host, await networkd(GOOD)));
    const { model } = await loaded('host: {prune: Never, network: {tool: networkd, files: []}}\n');
    assert.deepEqual(await planned(network, host, model, { record }), []);
  });

  test('devices with keys are for root and networkd only, and in no diff', async () => {
    const host = machine({ [FILE]: GOOD });
    const content = '[NetDev]\\nName=wg0\\nKind=wireguard\\n[WireGuard]\\nPrivateKey=abc\\n';
    const { model } = await documentOf(`{tool: networkd, files: [{name: 20-wg0.netdev, content: "${content}"}]}`);
    const { changes } = await run(host, model);
    const stat = await host.stat('/etc/systemd/network/20-wg0.netdev');
    assert.deepEqual([stat?.mode, stat?.uid, stat?.gid], [0o640, 0, 998]);
    assert.doesNotMatch(JSON.stringify(changes.map(({ summary, diff }) => [summary, diff])), /PrivateKey/);
  });

  test('that loses the default route is put back within the time, with the reason', async () => {
    const host = machine({ [FILE]: { content: GOOD, mode: 0o600, gid: 5 } });
    await assert.rejects(run(host, await networkd(LOSING, '{timeout: 20s}')), {
      reason: 'NetworkLost',
      message:
        'the network was lost with the files of host.network: there is no default route after 20.0 s; the previous files were restored',
      remedy: /host\.network\.keep\.timeout/,
    });
    assert.ok(clock.passedMs >= 20_000 && clock.passedMs < 22_000, String(clock.passedMs));
    const stat = await host.stat(FILE);
    assert.deepEqual([host.text(FILE), stat?.mode, stat?.gid], [GOOD, 0o600, 5]);
    assert.match(host.text('/proc/net/route') ?? '', /eth0\t00000000/);
    assert.equal(host.text(TRIAL), undefined);
  });

  test('a route that only goes after a while is lost, too', async () => {
    const host = machine({ [FILE]: BETTER });
    clock.at(2_500, () => host.put('/proc/net/route', HEAD));
    await assert.rejects(run(host, await networkd(GOOD)), { reason: 'NetworkLost' });
    assert.equal(host.text(FILE), BETTER);
  });

  test('a route that takes a while to come is awaited', async () => {
    const host = machine({}, { programs: { networkctl: () => ({}) } });
    host.put('/proc/net/route', `${HEAD}${DEFAULT}`);
    clock.at(500, () => host.put('/proc/net/route', HEAD));
    clock.at(9_000, () => host.put('/proc/net/route', `${HEAD}${DEFAULT}`));
    assert.deepEqual((await run(host, await networkd(GOOD))).left, []);
    assert.ok(clock.passedMs >= 9_000);
  });

  test('without a default route before there need be none after', async () => {
    const host = machine({ '/proc/net/route': HEAD });
    assert.deepEqual((await run(host, await networkd(LOSING))).left, []);
  });

  test('an endpoint that is named must accept connections', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : assert.fail();
    const host = machine();
    assert.deepEqual((await run(host, await networkd(GOOD, `{endpoint: "127.0.0.1:${port}"}`))).left, []);
    await new Promise((done) => server.close(done));
    await assert.rejects(run(host, await networkd(BETTER, `{endpoint: "127.0.0.1:${port}", timeout: 5s}`)), {
      reason: 'NetworkLost',
      message: new RegExp(`127\\.0\\.0\\.1:${port} does not accept connections \\(ECONNREFUSED\\) after 5\\.0 s`),
    });
    assert.equal(host.text(FILE), GOOD);
  });

  test('a tool that fails has the files of before again', async () => {
    let calls = 0;
    const networkctl = () => (++calls === 1 ? { status: 1, stderr: 'Failed to reload network settings: x\n' } : {});
    const host = machine({ [FILE]: GOOD }, { programs: { networkctl } });
    await assert.rejects(run(host, await networkd(BETTER)), (error: { reason?: string; evidence?: unknown }) => {
      assert.equal(error.reason, 'NetworkNotApplied');
      assert.deepEqual(error.evidence, [
        { source: 'networkctl', text: 'Failed to reload network settings: x' },
        { source: 'networkctl', text: 'networkctl reload ended with status 1' },
      ]);
      return true;
    });
    assert.equal(host.text(FILE), GOOD);
  });

  test('what even the files of before do not bring back is said, and the next run begins with them', async () => {
    const host = machine({ [FILE]: GOOD }, { programs: { networkctl: () => ({ status: 1 }) } });
    await assert.rejects(run(host, await networkd(BETTER)), {
      message: /restoring the previous files failed, too$/,
      remedy: /kept in \/var\/lib\/machineadm\/network-trial\.json/,
    });
    assert.notEqual(host.text(TRIAL), undefined);
    assert.equal(host.text(FILE), GOOD);
  });

  test('a line that networkd ignores is a mistake, and one of another file is none', async () => {
    const logs = [`${FILE}:3: Unknown key 'Old' in section [Network], ignoring.`];
    const services = { 'systemd-networkd': { active: true, logs } };
    const networkctl = () => {
      logs.push("/etc/systemd/network/99.network:1: Unknown key 'A', ignoring.");
      if (host.text(FILE) === BETTER) logs.push(`${FILE}:5: Unknown key 'DNX' in section [Network], ignoring.`);
      return {};
    };
    const host = machine({}, { services, programs: { networkctl } });
    assert.deepEqual((await run(host, await networkd(GOOD))).left, []);
    await assert.rejects(run(host, await networkd(BETTER)), (error: { reason?: string; evidence?: unknown }) => {
      assert.equal(error.reason, 'NetworkNotApplied');
      assert.deepEqual(error.evidence, [
        { source: 'systemd-networkd', text: `${FILE}:5: Unknown key 'DNX' in section [Network], ignoring.` },
      ]);
      return true;
    });
    assert.equal(host.text(FILE), GOOD);
  });

  test('a stopped run has the files of before again', async () => {
    const host = machine({ [FILE]: GOOD });
    const stop = new AbortController();
    clock.at(3_000, () => stop.abort(new Error('stopped')));
    const model = await networkd(LOSING);
    await assert.rejects(clock.until(runStep(network, host, model, { signal: stop.signal })));
    assert.equal(host.text(FILE), GOOD);
    assert.equal(host.text(TRIAL), undefined);
  });

  describe('killed at any moment', () => {
    /** The host up to its change of that number; none of the later ones is made. */
    const killedAt = (host: MemoryHost, number: number): { readonly host: Host; readonly wasKilled: () => boolean } => {
      let changes = 0;
      const names = ['writeFile', 'removeFile', 'run', 'sync'] as const;
      const killed = Object.fromEntries(
        names.map((name) => [
          name,
          async (...args: never[]) => {
            changes += 1;
            if (changes >= number) throw errno('KILLED');
            return await (host[name] as (...args: never[]) => unknown)(...args);
          },
        ]),
      );
      return { host: { ...host, ...killed } as Host, wasKilled: () => changes >= number };
    };

    for (const [what, content] of [
      ['good', BETTER],
      ['losing', LOSING],
    ] as const) {
      test(`the next run of ${what} files ends as one that was not killed`, async () => {
        const model = await networkd(content, '{timeout: 5s}');
        for (let number = 1; ; number += 1) {
          const machineOf = machine({ [FILE]: GOOD });
          const { host, wasKilled } = killedAt(machineOf, number);
          const first = await run(host, model).catch((error: unknown) => error);
          if (!wasKilled()) {
            assert.ok(number > 7, `only ${number} changes`);
            break;
          }
          assert.ok(first instanceof Error || content === BETTER, `killed at ${number}`);
          if (content === BETTER) {
            assert.deepEqual((await run(machineOf, model)).left, [], `killed at ${number}`);
            assert.equal(machineOf.text(FILE), BETTER, `killed at ${number}`);
          } else {
            await assert.rejects(run(machineOf, model), { reason: 'NetworkLost' }, `killed at ${number}`);
            assert.equal(machineOf.text(FILE), GOOD, `killed at ${number}`);
            assert.match(machineOf.text('/proc/net/route') ?? '', /00000000\t0100000A/);
          }
          assert.equal(machineOf.text(TRIAL), undefined, `killed at ${number}`);
        }
      });
    }

    test('plan says so, and damaged files of before are not guessed', async () => {
      const host = machine({
        [FILE]: GOOD,
        [TRIAL]: '{"tool":"networkd","hadDefaultRoute":true,"files":[],"crc32":"00000000"}',
      });
      await assert.rejects(planned(network, host, await networkd(GOOD)), {
        message: /network-trial\.json.* is damaged/,
      });
      host.put(TRIAL, '{"tool":"networkd","hadDefaultRoute":true,"files":[]}');
      const [change] = await planned(network, host, await networkd(GOOD));
      assert.match(change?.summary ?? '', /finish an interrupted change/);
    });
  });

  describe('netplan', () => {
    const YAML = 'network:\n  version: 2\n';
    const document = async () =>
      (await documentOf(`{tool: netplan, files: [{name: 60-a.yaml, content: ${JSON.stringify(YAML)}}]}`)).model;
    const files = {
      '/etc/netplan/50-cloud.yaml': 'network: {}\n',
      '/etc/netplan/60-a.yaml': 'network: {version: 1}\n',
    };
    /** netplan 0.106, whose messages quote the line that they are about. */
    const machineWith = (mistake?: string) =>
      machine(files, {
        programs: {
          netplan: (command) => {
            if (command.args[0] !== 'generate') return {};
            assert.deepEqual(command.files, {
              '/etc/netplan/50-cloud.yaml': 'network: {}\n',
              '/etc/netplan/60-a.yaml': YAML,
            });
            if (mistake === undefined) return {};
            const stderr = `${mistake}:1:9: Error in network definition: bad\n      password: secret\n                ^\n`;
            return { status: 1, stderr };
          },
        },
      });

    test('is given the new files, and applies them', async () => {
      const host = machineWith();
      const done = await run(host, await document());
      assert.deepEqual(done.left, []);
      assert.equal((await host.stat('/etc/netplan/60-a.yaml'))?.mode, 0o600);
      assert.equal(done.changes[0]?.diff, '');
      assert.deepEqual(
        host.log.filter((line) => /^run|^write \/etc/.test(line)),
        ['write /etc/netplan/60-a.yaml 0600 0:0', 'run netplan apply'],
      );
    });

    test('checks the new files beside the others in plan; what it quotes of them is not shown', async () => {
      assert.deepEqual(await preflight(machineWith(), await document()), []);
      const [finding, ...others] = await preflight(machineWith('/etc/netplan/60-a.yaml'), await document());
      assert.deepEqual([finding?.reason, finding?.field], ['NetworkInvalid', 'host.network.files[0].content']);
      assert.deepEqual(finding?.evidence, [
        { source: 'netplan', text: '/etc/netplan/60-a.yaml:1:9: Error in network definition: bad' },
      ]);
      assert.deepEqual(others, []);
    });

    test("is not asked to correct a mistake of another's file", async () => {
      const [finding] = await preflight(machineWith('/etc/netplan/50-cloud.yaml'), await document());
      assert.equal(finding?.severity, 'skipped');
      assert.match(
        finding?.what ?? '',
        /^the files of netplan: not checked: \/etc\/netplan\/50-cloud\.yaml:1:9: Error/,
      );
    });
  });

  describe('NetworkManager', () => {
    const PROFILE = '[connection]\nid=uplink\ntype=ethernet\n';
    const profiles = async (content = PROFILE) =>
      (await documentOf(`{tool: NetworkManager, files: [{name: a.nmconnection, content: ${JSON.stringify(content)}}]}`))
        .model;
    const services = { NetworkManager: { active: true } };

    for (const [content, up] of [
      [PROFILE, ['run nmcli --wait 30 connection up id uplink']],
      ['[connection]\ntype=ethernet\n', ['run nmcli --wait 30 connection up id a']],
      [`${PROFILE}autoconnect=false\n`, []],
    ] as const) {
      test(`loads profiles and brings up those that connect by themselves: ${JSON.stringify(content)}`, async () => {
        const host = machine({}, { services, programs: { nmcli: () => ({}) } });
        assert.deepEqual((await run(host, await profiles(content))).left, []);
        const path = '/etc/NetworkManager/system-connections/a.nmconnection';
        assert.deepEqual([host.text(path), (await host.stat(path))?.mode], [content, 0o600]);
        assert.deepEqual(
          host.log.filter((line) => line.startsWith('run')),
          ['run nmcli connection reload', ...up],
        );
      });
    }

    test('checks profiles in plan, and an old nmcli is reported', async () => {
      const answer = (stderr: string) => machine({}, { services, programs: { nmcli: () => ({ status: 2, stderr }) } });
      const [finding] = await preflight(
        answer('Error: Error writing connection: ipv4.method: property is invalid\n'),
        await profiles(),
      );
      assert.equal(finding?.reason, 'NetworkInvalid');
      assert.equal(finding?.field, 'host.network.files[0].content');
      assert.match(finding?.evidence?.[0]?.text ?? '', /ipv4\.method/);
      const [old] = await preflight(
        answer("Error: Option '--offline' is unknown, try 'nmcli -help'.\n"),
        await profiles(),
      );
      assert.equal(old?.severity, 'skipped');
    });
  });

  for (const [why, more, text] of [
    ['not installed', { programs: {} }, /networkctl/],
    ['not running', { services: { 'systemd-networkd': {} } }, /systemctl enable --now systemd-networkd/],
  ] as const) {
    test(`a tool that is ${why} is refused before any change`, async () => {
      const [finding] = await preflight(machine({}, more), await networkd(GOOD));
      assert.equal(finding?.reason, 'NetworkToolMissing');
      assert.equal(finding?.field, 'host.network.tool');
      assert.match(`${finding?.what} ${finding?.remedy}`, text);
    });
  }

  const file = (name: string, content: string) => `{name: ${name}, content: ${JSON.stringify(content)}}`;
  for (const [text, problem] of [
    [`{tool: ifupdown}`, /host\.network\.tool/],
    [
      `{tool: networkd, files: [${file('a.yaml', 'x')}]}`,
      /files\[0\]\.name: networkd does not read it \(hint: .*"\.network"/,
    ],
    [`{tool: netplan, files: [${file('a.network', 'x')}]}`, /netplan does not read it/],
    [`{tool: NetworkManager, files: [${file('a', 'x')}]}`, /NetworkManager does not read it/],
    [`{tool: networkd, files: [${file('../a.network', 'x')}]}`, /not a file name/],
    [`{tool: networkd, files: [${file('a.network', 'Name=x\n')}]}`, /line 1: a setting before the first section/],
    [
      `{tool: networkd, files: [${file('a.network', '[Match]\nName eth0\n')}]}`,
      /line 2 is neither a section, a setting nor a comment/,
    ],
    [`{tool: networkd, files: [${file('a.network', '[Match\nName=eth0\n')}]}`, /line 1: a section without its "\]"/],
    [`{tool: networkd, files: [${file('a.network', '[Network]\nDHCP=yes\n')}]}`, /there is no section \[Match\]/],
    [`{tool: networkd, files: [${file('a.netdev', '[Match]\nName=a\n')}]}`, /there is no section \[NetDev\]/],
    [
      `{tool: NetworkManager, files: [${file('a.nmconnection', '[ipv4]\nmethod=auto\n')}]}`,
      /no section \[connection\]/,
    ],
    [`{tool: netplan, files: [${file('a.yaml', 'network: [')}]}`, /not a file that netplan reads: not YAML/],
    [`{tool: netplan, files: [${file('a.yaml', 'ethernets: {}')}]}`, /there is no mapping "network"/],
    [`{tool: networkd, files: [${file('a.network', GOOD)}, ${file('a.network', GOOD)}]}`, /is already/],
    [`{tool: networkd, keep: {endpoint: "10.0.0.1"}}`, /not host:port/],
    [`{tool: networkd, keep: {timeout: 0s}}`, /must be above 0s/],
    [`{tool: networkd}, platform: Windows`, /host\.network: not on Windows/],
    [
      `{tool: networkd, files: [${file('a.network', GOOD)}]}, files: [{path: /etc/systemd/network/a.network, content: x}]`,
      /host\.network/,
    ],
  ] as const) {
    test(`${text} is refused`, async () => {
      const problems = await problemsOf(`host: {network: ${text}}\n`);
      assert.match(problems.join('\n'), problem);
      assert.equal(problems.length, 1, problems.join('\n'));
    });
  }

  test('comments, continued lines and sections without settings are taken', async () => {
    const content = '# a\n; b\n[Match]\nName=eth0 \\\n eth1\n\n[Network]\n';
    assert.deepEqual(
      await problemsOf(`host: {network: {tool: networkd, files: [${file('a.network', content)}]}}\n`),
      [],
    );
  });
});
