import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { reportAttack } from '../support/attacks.ts';
import { needs } from '../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const UNITS = join(ROOT, 'packaging/systemd');
/** Where the machine has this checkout: units may have a /tmp of their own, and no /root. */
const CHECKOUT = '/usr/local/lib/checkout-of-test';
const skip = needs('root', 'systemd-nspawn', 'systemd-analyze', '/lib/systemd/systemd', 'dbus-daemon');

/** What is tried from inside a unit, as a shell command that succeeds where the attacker wins. */
const DOORS = {
  'starts a unit as root': 'systemd-run --wait -q touch /root/escaped',
  'asks the service manager': 'systemctl is-active dbus.service',
  'asks D-Bus': 'busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.DBus.Peer Ping',
  'reads the password hashes': 'grep -q . /etc/shadow',
  'changes a program': 'touch /usr/local/bin/attempt',
  'changes the configuration': 'touch /etc/attempt',
  'becomes another user': 'setpriv --reuid 1 true',
  'makes a namespace': 'unshare --user --map-root-user true || unshare --mount true',
  'mounts a file system': 'mount -t tmpfs none /mnt',
  'changes a sysctl': 'sysctl -qw kernel.domainname=attempt',
  'makes a program setuid': 'cp /bin/true /tmp/x && chmod u+s /tmp/x',
  'loads a module': 'modprobe dummy',
  'writes a job of cron': 'echo >/var/spool/cron/crontabs/root',
} as const;

const OF_NO_RIGHTS = {
  ...DOORS,
  'is root': 'test "$(id -u)" = 0',
  'becomes root': 'setpriv --reuid 0 true',
  'writes a file': 'echo >/run/attempt || echo >/var/lib/attempt || echo >/etc/kubernetes/kubelet.conf',
  'reads the state of machineadm': 'grep -rq . /var/lib/machineadm',
} as const;

const ATTEMPTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // From inside of the process that connects to a receiver, a child of the one that the unit starts.
  'machineadm-report-flush': {
    ...OF_NO_RIGHTS,
    'reads the credential of the kubelet': 'grep -q . /etc/kubernetes/kubelet.conf',
    'reads the secrets of other sinks': 'grep -rq . /run/machineadm/reporting',
    'writes data of root': 'echo >/var/lib/machineadm/spool/x || echo >/root/x',
    'reads the memory of the deliverer':
      'head -c 1 /proc/$PARENT/mem || cat /proc/$PARENT/environ || ls /proc/$PARENT/fd/',
    'ends the deliverer': 'kill -9 $PARENT',
  },
  'machineadm-report-watch': { ...OF_NO_RIGHTS, 'sees processes of root': 'cat /proc/1/cmdline' },
};

/** Does what the process does that connects to a receiver, and starts the attempts where that opens connections. */
const AS_SENDER = `const { leaveRoot } = await import('${CHECKOUT}/src/host/processes/leave-root.ts');
const { spawnSync } = await import('node:child_process');
leaveRoot();
spawnSync('/bin/sh', [process.argv[1]], { stdio: 'inherit', env: { ...process.env, PARENT: String(process.ppid) } });`;

/** Boots systemd on a copy of this machine's files, which nothing outlives, and starts the units in it. */
const BOOT = `set -e
mount --make-rprivate /
cd "$1"
mkdir m; mount -t tmpfs -o size=256m none m
mkdir m/u m/w m/r
mount -t overlay -o lowerdir=/,upperdir=m/u,workdir=m/w none m/r
rm -rf m/r/var/lib/machineadm m/r/etc/systemd/system/*.wants m/r/usr/sbin/policy-rc.d
mkdir -p m/r/etc/kubernetes m/r/var/lib/machineadm/spool m/r/etc/systemd/system/multi-user.target.wants
chmod 700 m/r/etc/kubernetes
chmod 700 m/r/var/lib/machineadm/spool
(umask 077; echo x >m/r/etc/kubernetes/kubelet.conf; echo secret >m/r/var/lib/machineadm/journal)
cp -r units/. m/r/etc/systemd/system/
ln -s ../attack.service m/r/etc/systemd/system/multi-user.target.wants/attack.service
mount -t cgroup2 none /sys/fs/cgroup || true
timeout 240 systemd-nspawn --register=no --keep-unit -q -D m/r --bind-ro="$2:/usr/local/bin/node-of-test" --bind-ro="$3:${CHECKOUT}" -b --console=read-only systemd.unit=multi-user.target </dev/null >boot.log 2>&1 || true
cp m/u/root/*.out . || true
`;

function unitFiles(directory: string): void {
  const starts = Object.keys(ATTEMPTS).map((unit) => `ExecStart=-/bin/systemctl start ${unit}.service\n`);
  for (const [unit, attempts] of Object.entries(ATTEMPTS)) {
    const tries = Object.entries({ ...attempts, 'was there': 'true' }).map(
      ([name, command]) => `if ${command}; then echo '${name}' >&3; fi\n`,
    );
    cpSync(join(UNITS, `${unit}.service`), join(directory, `${unit}.service`));
    writeFileSync(join(directory, `${unit}.sh`), `exec 3>&1 >/dev/null 2>&1\n${tries.join('')}`, { mode: 0o644 });
    mkdirSync(join(directory, `${unit}.service.d`));
    const script = unit === 'machineadm-report-flush' ? 'flush.sh' : `${unit}.sh`;
    const start = `ExecStart=\nExecStart=/bin/sh /etc/systemd/system/${script}\n`;
    writeFileSync(
      join(directory, `${unit}.service.d/attack.conf`),
      `[Unit]\nConditionDirectoryNotEmpty=\n[Service]\nType=oneshot\nRestart=no\n${start}StandardOutput=truncate:/root/${unit}.out\n`,
    );
  }
  writeFileSync(join(directory, 'as-sender.mjs'), AS_SENDER);
  writeFileSync(
    join(directory, 'flush.sh'),
    `mkdir -m 700 -p /run/machineadm/reporting
(umask 77; echo secret >/run/machineadm/reporting/x)
setpriv --nnp /usr/local/bin/node-of-test --input-type=module -e "$(cat /etc/systemd/system/as-sender.mjs)" /etc/systemd/system/machineadm-report-flush.sh
`,
  );
  writeFileSync(
    join(directory, 'attack.service'),
    `[Unit]\nAfter=basic.target dbus.service\nRequires=dbus.service\n[Service]\nType=oneshot\n${starts.join('')}ExecStart=-/bin/systemctl --force --force poweroff\n`,
  );
}

/** The last line of `systemd-analyze security`, without the name: `1.8 OK`. */
function exposureOf(unit: string): string {
  const args = ['security', '--offline=yes', '--no-pager', join(UNITS, `${unit}.service`)];
  const { stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  const exposure = /Overall exposure level for \S+ (\d+\.\d \w+)/.exec(stdout)?.[1];
  assert.ok(exposure !== undefined, stdout);
  return exposure;
}

describe('from inside the units that stay on the network', { skip, timeout: 300_000 }, () => {
  test('nothing leads to root, and nothing is changed', () => {
    const scratch = mkdtempSync(join(tmpdir(), 'machineadm-units-'));
    try {
      mkdirSync(join(scratch, 'units'));
      unitFiles(join(scratch, 'units'));
      const args = [
        '-m',
        '-p',
        '-f',
        '--mount-proc',
        '-C',
        '--kill-child',
        'sh',
        '-c',
        BOOT,
        'sh',
        scratch,
        process.execPath,
        ROOT,
      ];
      const { stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
      for (const [unit, attempts] of Object.entries(ATTEMPTS)) {
        const output = join(scratch, `${unit}.out`);
        const log = join(scratch, 'boot.log');
        assert.ok(existsSync(output), `${stderr}\n${existsSync(log) ? readFileSync(log, 'utf8') : ''}`);
        const won = readFileSync(output, 'utf8').trim().split('\n');
        // The last line shows that the unit ran to its end.
        assert.equal(won.at(-1), 'was there', won.join('\n'));
        won.pop();
        const exposure = exposureOf(unit);
        for (const name of Object.keys(attempts)) {
          reportAttack({
            kind: 'Units',
            attack: `${unit}: ${name}`,
            tries: 1,
            wins: won.includes(name) ? 1 : 0,
            unit: { name: unit, exposure },
          });
        }
      }
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
});
