import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempDisposableSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { test } from 'node:test';
import type { TestCase } from '../../scripts/test-cases.ts';
import { attackEnvironment, collectAttackResults, IS_WHOLE_ATTACK } from './attacks.ts';
import { type Need, needs } from './needs.ts';
import { preparedAgent } from './prepared-agent.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Exists only in a throw-away machine: it is made in the overlay before the tests begin. */
const MARKER = '/.machineadm-throw-away-machine';

/**
 * Everything that was written in the throw-away machine, but in /run and /tmp: the upper layer of its overlay, at the same
 * paths. A search in it takes milliseconds, in the whole machine a second.
 */
export const WRITTEN = '/.machineadm-written';

/**
 * Brings the loopback interface up: ioctl(SIOCSIFFLAGS) with IFF_UP of netdevice(7), by Debian's perl-base, which is always
 * installed, where there is no ip(8).
 */
const LOOPBACK_UP = `ip link set lo up 2>/dev/null || perl -e 'socket(my $s, 2, 2, 0); my $r = pack("a16 s x22", "lo", 1); ioctl($s, 0x8914, $r)' || true`;

/**
 * Namespaces for mounts, network, host name and processes; an overlay of this machine's root that is kept in memory
 * and gone afterwards; /proc, /sys and /run of its own. Swap, kernel modules and the clock are still the real ones.
 */
const ENTER = `
set -e
mount --make-rprivate /
mount -t tmpfs -o size=512m none /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work none /mnt/root
mount -t proc proc /mnt/root/proc
mount -t sysfs sysfs /mnt/root/sys
mount -t tmpfs -o mode=755 none /mnt/root/run
mount -t tmpfs none /mnt/root/tmp
mount --rbind /dev /mnt/root/dev
# a checkout on a file system of its own, or below /tmp or /run, is not in the overlay
if [ ! -e "/mnt/root$1/package.json" ]; then
  mkdir -p "/mnt/root$1"
  mount --bind "$1" "/mnt/root$1"
  mount -o remount,bind,ro "/mnt/root$1"
fi
shift
rm -rf /mnt/root/var/lib/machineadm
mkdir /mnt/root${WRITTEN}
mount --bind /mnt/upper /mnt/root${WRITTEN}
mount -o remount,bind,ro /mnt/root${WRITTEN}
${LOOPBACK_UP}
touch /mnt/root${MARKER}
umask 077
exec chroot /mnt/root "$@"
`;

/** Exists only in the namespaces of `inNamespaces`. */
const NAMESPACES_MARKER = '/mnt/.machineadm-namespaces';

/** The same namespaces, and an empty /mnt in memory: the root is this machine's, and nothing may be written to it. */
const ENTER_NAMESPACES = `
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=1g none /mnt
mount -t proc proc /proc
${LOOPBACK_UP}
touch ${NAMESPACES_MARKER}
shift
umask 077
exec "$@"
`;

/** What is printed, and each case for the outer run to tell. */
const REPORTERS = [
  '--test-reporter=spec',
  '--test-reporter-destination=stdout',
  `--test-reporter=${resolve(ROOT, 'scripts/test-cases.ts')}`,
  '--test-reporter-destination=/dev/fd/3',
];

/**
 * Runs the tests of a file, with the real host, in a throw-away machine: the file is run again inside, with a umask of
 * 077, and its cases are those of this test. It is skipped without root, namespaces or what `wanted` lists.
 *
 *     inThrowAwayMachine(import.meta.filename, () => { test('…', …) });
 */
export function inThrowAwayMachine(file: string, tests: () => void, wanted: readonly Need[] = []): void {
  runInside(file, tests, wanted, { marker: MARKER, enter: ENTER, called: 'a throw-away machine' });
}

/** As `inThrowAwayMachine`, for tests that make roots of their own below /mnt, where they alone may write. */
export function inNamespaces(file: string, tests: () => void, wanted: readonly Need[] = []): void {
  runInside(file, tests, wanted, { marker: NAMESPACES_MARKER, enter: ENTER_NAMESPACES, called: 'namespaces' });
}

function runInside(
  file: string,
  tests: () => void,
  wanted: readonly Need[],
  { marker, enter, called }: Readonly<Record<'marker' | 'enter' | 'called', string>>,
): void {
  if (existsSync(marker)) {
    tests();
    return;
  }
  test(`${basename(file)} in ${called}`, { skip: needs('root', 'namespaces', ...wanted) }, async (t) => {
    // NODE_TEST_CONTEXT would make the inner run a part of the outer one, which it is not.
    const { PATH, MACHINEADM_E2E } = process.env;
    const all = MACHINEADM_E2E === undefined ? {} : { MACHINEADM_E2E };
    const env = { PATH, HOME: '/root', LANG: 'C.UTF-8', ...preparedAgent(), ...attackEnvironment(), ...all };
    const inner = [process.execPath, '--test', '--test-isolation=none', ...REPORTERS, file];
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-cases-'));
    const told = join(directory.path, 'cases');
    // A file that is open reaches the reporter inside, where its path does not; a pipe of Node's cannot be opened again.
    const run = withOpen(told, (descriptor) =>
      spawnSync('unshare', ['-m', '-n', '-u', '-p', '-f', '--kill-child', 'sh', '-c', enter, 'sh', ROOT, ...inner], {
        env,
        stdio: ['ignore', 'pipe', 'pipe', descriptor],
        encoding: 'utf8',
        maxBuffer: 64 * 2 ** 20,
        // For a hang only: the longest file takes a minute, and ten on a machine with twenty other programs. With all
        // cases (the published templates of Cluster API), it is half an hour, and hours on such a machine.
        timeout: IS_WHOLE_ATTACK || MACHINEADM_E2E === 'all' ? 14_400_000 : 1_800_000,
        // unshare(1) waits for its child whatever milder signal it gets, and then --kill-child ends all.
        killSignal: 'SIGKILL',
      }),
    );
    collectAttackResults(run.stdout);
    const cases = readCases(readFileSync(told, 'utf8'));
    for (const { name, outcome, because } of cases) {
      await t.test(name, { skip: outcome === 'skipped' && (because ?? true) }, () => {
        assert.notEqual(outcome, 'failed', because);
      });
    }
    if (run.status !== 0)
      assert.ok(
        cases.some(({ outcome }) => outcome === 'failed'),
        `${run.stdout}\n${run.stderr}`,
      );
    assert.ok(cases.length > 0, `no test ran inside:\n${run.stdout}\n${run.stderr}`);
  });
}

function withOpen<Result>(path: string, use: (descriptor: number) => Result): Result {
  const descriptor = openSync(path, 'w');
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function readCases(lines: string): TestCase[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
