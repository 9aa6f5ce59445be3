import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReportEvent } from '@machineadm/status/event.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { DOCUMENT, Fleet, LAB, type Node } from '../../support/lab.ts';
import { needs } from '../../support/needs.ts';

const MINUTE = 60_000;
const UNITS = resolve(import.meta.dirname, '../../../packaging/systemd');
const RECEIVED = '/root/received';

/** The packaged unit, whose end kills all that it started, as units do by default; it may be started more than once. */
const UNIT = readFileSync(join(UNITS, 'machineadm-provision.service'), 'utf8')
  .replace(' --boot', '')
  .replaceAll('/etc/machineadm/bootstrap.yaml', DOCUMENT);

/** When the receiver had taken the last event: seconds since the machine's boot. */
const TAKEN_AT = '/root/taken-at';
/** A program that takes events slowly, and not at all before the file /root/repaired is there. */
const SLOW = `cat >/root/last; [ -e /root/repaired ] || exit 75; sleep 3; cut -d" " -f1 /proc/uptime >${TAKEN_AT}; cat /root/last >>${RECEIVED}`;

async function lay(node: Node, commands: readonly string[] = []): Promise<void> {
  await node.lay({
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: 'reported' },
    host: { hooks: { early: { commands: ['true', ...commands] } } },
    reporting: {
      deadline: '8s',
      sinks: [{ type: 'Journal' }, { type: 'SystemdNotify' }, { type: 'Exec', command: ['sh', '-c', SLOW] }],
    },
  });
}

async function received(node: Node): Promise<readonly ReportEvent[]> {
  const lines = ((await node.read(RECEIVED)) ?? '').split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as ReportEvent);
}

/** The report of the Exec sink, once the deliverer has written one. */
async function reported(node: Node): Promise<NonNullable<RunStatus['reports']>[number]> {
  for (let tries = 0; tries < 60; tries += 1) {
    const [report] = (await node.status()).reports ?? [];
    if (report !== undefined) return report;
    await sleep(500);
  }
  return assert.fail('nothing was reported');
}

describe('reporting from a unit of systemd', { skip: needs(...LAB), timeout: 20 * MINUTE }, () => {
  let node: Node;
  const fleet = Fleet.ofSuite(
    async () => {
      node = await fleet.start({ name: 'e2e-report', ip: '10.99.0.91' });
      await node.machine.write('/etc/systemd/system/bootstrap.service', UNIT);
      for (const unit of ['machineadm-report-flush.service', 'machineadm-report-flush.timer'])
        await node.machine.write(`/etc/systemd/system/${unit}`, readFileSync(join(UNITS, unit), 'utf8'));
      await node.machine.shell('systemctl daemon-reload');
    },
    { kind: 'host' },
  );

  test('outlives the unit, which does not wait for it, and sends its status to systemd', {
    timeout: 3 * MINUTE,
  }, async () => {
    await lay(node);
    await node.machine.shell('touch /root/repaired');
    await node.machine.shell('systemctl start bootstrap.service');
    const started = 'systemctl show -p ActiveEnterTimestampMonotonic --value bootstrap.service';
    const startedAt = Number(await node.machine.shell(started)) / 1e6;
    const text = await node.machine.shell('systemctl show -p StatusText --value bootstrap.service');
    assert.match(text, /^provision of reported succeeded in /);
    // What is left of the unit is killed.
    await node.machine.shell('systemctl stop bootstrap.service');
    const report = await reported(node);
    assert.deepEqual([report.state, report.pending], ['Delivered', 0]);
    assert.deepEqual(
      (await received(node)).map(({ type }) => type),
      ['started', 'concluded'],
    );
    const takenAt = Number(await node.read(TAKEN_AT));
    assert.ok(startedAt > 0 && startedAt < takenAt, `started ${startedAt} s after boot, reported after ${takenAt} s`);
    const units = await node.machine.shell(
      'systemctl list-units --all --plain --no-legend "machineadm-report-*.service"',
    );
    assert.doesNotMatch(units, /failed/);
  });

  test('without a reachable receiver is logged in the journal; the timer delivers it after a reboot', {
    timeout: 5 * MINUTE,
  }, async () => {
    await lay(node, ['true']);
    await node.machine.shell(`rm -f /root/repaired ${RECEIVED}; systemctl start bootstrap.service`);
    const report = await reported(node);
    assert.deepEqual([report.state, report.message], ['Pending', 'status 75']);
    const journal = await node.machine.shell('journalctl -t machineadm -o cat --no-pager');
    assert.match(journal, /sink Exec \(sh\) did not accept 2 events, which will be retried: status 75/);
    const { runId } = await node.status();
    await node.machine.shell(
      'systemctl disable bootstrap.service 2>/dev/null; systemctl enable machineadm-report-flush.timer',
    );
    await node.machine.reboot();
    await node.machine.shell('touch /root/repaired');
    const timers = await node.machine.shell('systemctl list-timers --no-legend machineadm-report-flush.timer');
    assert.match(timers, /machineadm-report-flush\.service/);
    // What the timer does when its time has come.
    await node.machine.shell('systemctl start machineadm-report-flush.service');
    assert.deepEqual(
      (await received(node)).map((event) => [event.runId, event.type]),
      [
        [runId, 'started'],
        [runId, 'concluded'],
      ],
    );
    const again = await node.machine.shell(
      'systemctl start machineadm-report-flush.service; systemctl show -p ConditionResult --value machineadm-report-flush.service',
    );
    assert.equal(again, 'no\n', 'nothing waits, nothing is started');
  });

  test('the timer runs a command in a sandbox, which a drop-in widens', { timeout: 2 * MINUTE }, async () => {
    const unit = 'machineadm-report-flush.service';
    const attempts = {
      'writes data of root': 'echo >/root/attempt',
      'writes data of another user': 'echo >/var/tmp/foreign',
      'writes to the console': 'echo >/dev/console',
      'speaks to the service manager': 'systemctl is-active dbus.service',
      'starts a unit as root': 'systemd-run --wait -q touch /root/escaped',
      'reads the password hashes': 'grep -q . /etc/shadow',
      'changes a program': 'touch /usr/local/bin/attempt',
      'changes the configuration': 'touch /etc/pager/attempt',
      'becomes another user': 'setpriv --reuid daemon true',
      'makes a program setuid': 'chmod u+s /root/attempt',
      'makes a namespace': 'unshare --mount true',
      'changes a sysctl': 'sysctl -qw kernel.domainname=attempt',
    };
    const report = Object.entries(attempts).map(([name, command]) => `if ${command}; then echo '${name}' >&3; fi\n`);
    await node.machine.write('/root/attempts.sh', `exec 3>&1 >/dev/null 2>&1\n${report.join('')}`);
    await node.machine.shell(
      'mkdir /etc/pager; touch /var/tmp/foreign; chown daemon /var/tmp/foreign; chmod 600 /var/tmp/foreign',
    );
    const attempt = async (more: string): Promise<readonly string[]> => {
      const dropIn = `[Unit]\nConditionDirectoryNotEmpty=\n[Service]\nExecStart=\nExecStart=/bin/sh /root/attempts.sh\n`;
      const output = 'StandardOutput=truncate:/root/attempted\n';
      await node.machine.write(`/etc/systemd/system/${unit}.d/attempts.conf`, `${dropIn}${output}${more}`);
      await node.machine.shell(`systemctl daemon-reload; systemctl start ${unit}`);
      return ((await node.read('/root/attempted')) ?? '').trim().split('\n');
    };
    const inside = Object.keys(attempts).slice(0, 3);
    assert.deepEqual(await attempt(''), [...inside, 'becomes another user']);
    // The drop-in of docs/reporting.md.
    const widened = await attempt('ReadWritePaths=/etc/pager\n');
    assert.deepEqual(widened, [...inside, 'changes the configuration', 'becomes another user']);
  });

  test('the watcher is another user from the start, and none of its ways leads to root', {
    timeout: 3 * MINUTE,
  }, async () => {
    const unit = 'machineadm-report-watch.service';
    await node.machine.write(`/etc/systemd/system/${unit}`, readFileSync(join(UNITS, unit), 'utf8'));
    const attempts = {
      'reads the credential of the kubelet': 'cat /etc/kubernetes/kubelet.conf',
      'is root': 'test "$(id -u)" = 0',
      'starts a unit as root': 'systemd-run --wait -q touch /root/escaped',
      'asks the service manager': 'systemctl is-active dbus.service',
      'becomes root': 'setpriv --reuid 0 true',
      'writes a file': 'echo >/etc/attempt || echo >/run/attempt || echo >/var/lib/attempt',
      'writes to a file of root': 'echo >>/etc/kubernetes/kubelet.conf',
      'reads the password hashes': 'grep -q . /etc/shadow',
      'reads the state of machineadm': 'test -n "$(ls -A /var/lib/machineadm)"',
      'sees processes of root': 'cat /proc/1/cmdline',
      'makes a namespace': 'unshare --user --map-root-user true || unshare --mount true',
      'makes a program setuid': 'cp /bin/true /tmp/x && chmod u+s /tmp/x',
    };
    const report = Object.entries(attempts).map(([name, command]) => `if ${command}; then echo '${name}' >&3; fi\n`);
    await node.machine.write('/usr/local/attempts.sh', `exec 3>&1 >/dev/null 2>&1\n${report.join('')}`);
    await node.machine.shell(
      'chmod 644 /usr/local/attempts.sh; mkdir -p /etc/kubernetes; umask 077; echo x >/etc/kubernetes/kubelet.conf',
    );
    const dropIn = '[Service]\nType=oneshot\nRestart=no\nExecStart=\nExecStart=/bin/sh /usr/local/attempts.sh\n';
    const output = 'StandardOutput=truncate:/root/attempted\n';
    await node.machine.write(`/etc/systemd/system/${unit}.d/attempts.conf`, `${dropIn}${output}`);
    await node.machine.shell(`rm -f /root/attempted; systemctl daemon-reload; systemctl start ${unit}`);
    assert.deepEqual(((await node.read('/root/attempted')) ?? '').trim().split('\n'), [
      'reads the credential of the kubelet',
    ]);
    // The real command, as the unit starts it: it looks at the node, and finds no cluster.
    await node.machine.shell(
      `rm -r /etc/systemd/system/${unit}.d; systemctl daemon-reload; systemctl start ${unit}; sleep 5; systemctl is-active ${unit}; systemctl stop ${unit}`,
    );
    assert.doesNotMatch(
      await node.machine.shell(`journalctl -u ${unit} -o cat --no-pager`),
      /NotPrivilegedUser|EACCES|EPERM/,
    );
  });

  test('exposes no secret: neither events nor the files of the deliverer contain one', {
    timeout: 2 * MINUTE,
  }, async () => {
    assert.equal(
      await node.machine.shell('find /var/lib/machineadm/spool /run/machineadm/reporting -type f 2>/dev/null || true'),
      '',
    );
  });
});
