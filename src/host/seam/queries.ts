import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Query } from './host.ts';
import { matches, type QueryForm } from './query-form.ts';

/** Stands for the directory of a query's own files (`Query.files`): a checker is given a copy, and nothing of the machine. */
export const PRIVATE_FILES = '/machineadm-private-files';

const PATH = /^\/.+$/;
const PATH_OR_ROOT = /^\/.*$/;
/** sshd must be called by its path: older ones look for themselves there (sshd.c, rexec_flag). */
const BY_PATH = /^\/usr\/(?:local\/)?s?bin\/(sshd)$/;
const PATH_OR_STDIN = /^(\/.+|-)$/;
const COLUMNS = /^\+?[A-Za-z0-9_][A-Za-z0-9_,%:-]*$/;
/** identifiers of containerd: pkg/identifiers/validate.go. */
const NAMESPACE = /^[A-Za-z0-9]+(?:[._-](?:[A-Za-z0-9]+))*$/;
const UNIT = /^[A-Za-z0-9@_*][A-Za-z0-9:_.\\@*-]*$/;
const PROPERTIES = /^[A-Za-z0-9_,]+$/;
const MODULE = /^[A-Za-z0-9_][A-Za-z0-9_.,:*-]*$/;
const NUMBER = /^\d+$/;
const ANY = /^[^-].*$/;

const UNIT_LISTING: QueryForm = {
  flags: ['--no-pager', '--no-legend', '--plain', '--all', '-a', '--full', '-l', '--failed', '--quiet', '-q'],
  valued: { '--type': COLUMNS, '-t': COLUMNS, '--state': COLUMNS, '--output': COLUMNS, '-o': COLUMNS },
  operands: { pattern: UNIT },
};

/**
 * The allowlist. Each entry states why it changes nothing where the program's purpose does not make that obvious.
 * Options that change something are left out, so they cannot be used.
 */
const QUERIES: Readonly<Record<string, readonly QueryForm[]>> = {
  // --poll waits for ever and is therefore left out.
  findmnt: [
    {
      flags: words(
        '--json -J --raw -r --noheadings -n --list -l --real --pseudo --bytes -b --first-only -f --kernel -k --fstab -s',
        '--mtab -m --all -A --evaluate -e --nofsroot -v --notruncate -u --uniq -U --submounts -R --df -D --pairs -P',
        '--verify -x --canonicalize -c --output-all',
      ),
      valued: {
        '--output': COLUMNS,
        '-o': COLUMNS,
        '--types': COLUMNS,
        '-t': COLUMNS,
        '--options': ANY,
        '-O': ANY,
        '--target': PATH_OR_ROOT,
        '-T': PATH_OR_ROOT,
        '--mountpoint': PATH_OR_ROOT,
        '-M': PATH_OR_ROOT,
        '--source': ANY,
        '-S': ANY,
        '--tab-file': PATH,
        '-F': PATH,
      },
      operands: { pattern: ANY, max: 2 },
    },
  ],
  lsblk: [
    {
      flags: words(
        '--json -J --bytes -b --nodeps -d --paths -p --list -l --all -a --noheadings -n --raw -r --pairs -P',
      ),
      valued: { '--output': COLUMNS, '-o': COLUMNS },
      operands: { pattern: PATH },
    },
  ],
  // blkid(8): without -p (low-level probing) it writes its cache file; -g and -w write it, too.
  blkid: [
    {
      needs: ['-p', '--probe'],
      flags: ['-p', '--probe'],
      valued: {
        '-o': COLUMNS,
        '--output': COLUMNS,
        '-s': COLUMNS,
        '--match-tag': COLUMNS,
        '-u': COLUMNS,
        '-n': COLUMNS,
      },
      operands: { pattern: PATH, min: 1 },
    },
  ],
  // sfdisk(8): without --json, --dump or --list it reads a script and writes.
  sfdisk: [{ needs: ['--json', '-J'], flags: ['--json', '-J'], operands: { pattern: PATH, min: 1, max: 1 } }],
  dumpe2fs: [{ needs: ['-h'], flags: ['-h'], operands: { pattern: PATH, min: 1, max: 1 } }],
  xfs_info: [{ operands: { pattern: PATH, min: 1, max: 1 } }],
  btrfs: [{ words: ['inspect-internal', 'dump-super'], operands: { pattern: PATH, min: 1, max: 1 } }],
  // wipefs(8): erases only with --all or --offset.
  wipefs: [{ flags: ['--parsable', '-p'], operands: { pattern: PATH, min: 1 } }],
  // Waits until udev has processed its queue; all other functions of udevadm are left out.
  udevadm: [{ words: ['settle'], valued: { '--timeout': NUMBER, '-t': NUMBER } }],
  // swapon(8): without --show its operands are switched on; with it there is nothing to name.
  swapon: [
    {
      needs: ['--show'],
      flags: ['--show', '--noheadings', '--raw', '--bytes'],
      valued: { '--show': COLUMNS },
    },
  ],
  // The credential goes to the standard output: a second operand would be a file for it.
  'systemd-creds': [{ words: ['decrypt'], valued: { '--name': COLUMNS }, operands: { pattern: PATH, min: 1, max: 1 } }],
  systemctl: [
    {
      words: ['show'],
      flags: ['--no-pager', '--value', '--all', '-a'],
      valued: { '--property': PROPERTIES, '-p': PROPERTIES, '--timestamp': COLUMNS },
      operands: { pattern: UNIT },
    },
    { words: ['cat'], flags: ['--no-pager'], operands: { pattern: UNIT, min: 1 } },
    { words: ['is-system-running'] },
    { words: ['is-active'], flags: ['--quiet', '-q'], operands: { pattern: UNIT, min: 1 } },
    { words: ['is-enabled'], flags: ['--quiet', '-q'], operands: { pattern: UNIT, min: 1 } },
    { words: ['is-failed'], flags: ['--quiet', '-q'], operands: { pattern: UNIT, min: 1 } },
    { words: ['list-units'], ...UNIT_LISTING },
    { words: ['list-unit-files'], ...UNIT_LISTING },
  ],
  containerd: [
    { words: ['--version'] },
    { leading: { '-c': PATH, '--config': PATH }, words: ['config', 'dump'] },
    { leading: { '-c': PATH, '--config': PATH }, words: ['config', 'default'] },
  ],
  kubeadm: [
    { words: ['version'], valued: { '-o': /^(short|json|yaml)$/, '--output': /^(short|json|yaml)$/ } },
    {
      // Without a version it queries the internet for the newest one (kubernetes cmd/kubeadm/app/util/version.go).
      words: ['config', 'images', 'list'],
      needs: ['--config', '--kubernetes-version'],
      valued: {
        '--config': PATH,
        '--kubernetes-version': /^v\d+\.\d+\.\d+(?:[^\s\d]\S*)?$/,
        '--image-repository': /^(?:[a-z0-9]|\[[0-9a-fA-F:]+\])[\w.:/-]*$/,
        '--feature-gates': /^[A-Za-z0-9=,]+$/,
        '-o': /^(text|json|yaml)$/,
        '--output': /^(text|json|yaml)$/,
      },
    },
    { words: ['config', 'validate'], needs: ['--config'], valued: { '--config': PATH } },
    { words: ['config', 'print', 'init-defaults'] },
    { words: ['config', 'print', 'join-defaults'] },
    { words: ['upgrade', 'apply', '--help'] },
    { words: ['upgrade', 'node', '--help'] },
    // In another root directory it writes there alone (k/k cmd/kubeadm/app/util/chroot_unix.go).
    ...['apiserver', 'controller-manager', 'scheduler'].map((name) => ({
      words: ['init', 'phase', 'control-plane', name, `--rootfs=${PRIVATE_FILES}`],
      valued: { '--config': PATH, '--experimental-patches': PATH },
    })),
    // It renders in memory and prints the difference (k/k cmd/kubeadm/app/cmd/upgrade/diff.go).
    {
      words: ['upgrade', 'diff'],
      valued: { '--context-lines': /^\d+$/ },
      operands: { pattern: /^v\d+\.\d+\.\d+(?:[^\s\d]\S*)?$/, min: 1, max: 1 },
    },
  ],
  kubelet: [{ words: ['--version'] }],
  // modprobe(8): -c prints the configuration, -D prints what would be loaded, -n "does everything but insert".
  modprobe: [
    { words: ['-c'] },
    { words: ['--showconfig'] },
    {
      needs: ['-n', '--dry-run', '-D', '--show-depends', '-R', '--resolve-alias'],
      flags: words('-n --dry-run -D --show-depends -R --resolve-alias -v --verbose -q --quiet --first-time -a --all'),
      valued: { '-S': /^[\w.+-]+$/, '--set-version': /^[\w.+-]+$/ },
      operands: { pattern: MODULE, min: 1 },
    },
  ],
  modinfo: [
    {
      flags: ['-n', '--filename', '-0', '--null'],
      valued: { '-F': COLUMNS, '--field': COLUMNS, '-k': /^[\w.+-]+$/ },
      operands: { pattern: MODULE, min: 1 },
    },
  ],
  // Left out: options that vacuum, rotate, flush or follow, and --cursor-file, which is written to.
  journalctl: [
    {
      flags: words(
        '--no-pager --quiet -q --all -a --utc --reverse -r --dmesg -k --boot -b -b0 --system --merge -m --no-hostname',
      ),
      valued: {
        '--unit': UNIT,
        '-u': UNIT,
        '--since': ANY,
        '-S': ANY,
        '--until': ANY,
        '-U': ANY,
        '--lines': NUMBER,
        '-n': NUMBER,
        '--output': COLUMNS,
        '-o': COLUMNS,
        '--output-fields': COLUMNS,
        '--after-cursor': ANY,
        '--cursor': ANY,
        '--priority': /^[a-z0-9.]+$/,
        '-p': /^[a-z0-9.]+$/,
        '--identifier': ANY,
        '-t': ANY,
        '--grep': ANY,
        '-g': ANY,
        '--boot': /^(-?\d+|[0-9a-f]{32})$/,
        '--directory': PATH,
        '-D': PATH,
        '--file': PATH,
      },
      operands: { pattern: /^[A-Z_][A-Z0-9_]*=.*$/ },
    },
  ],
  // shadow and gshadow hold password hashes and are left out.
  getent: [
    { words: ['-s', 'myhostname', 'hosts', 'localhost'] },
    ...['passwd', 'group', 'hosts', 'ahosts', 'ahostsv4', 'ahostsv6', 'services'].map((database) => ({
      words: [database],
      operands: { pattern: ANY, min: 1, max: 1 },
    })),
  ],
  // apparmor_parser(8): from standard input, neither into the kernel nor into the cache; --names only prints.
  apparmor_parser: [{ words: ['--skip-kernel-load', '--skip-cache'] }, { words: ['--names'] }],
  // netplan-generate(8): below another root it writes there alone, and has neither systemd nor udev read it (src/generate.c).
  netplan: [{ words: ['generate', '--root-dir', PRIVATE_FILES] }],
  // nmcli(1): with --offline it prints the profile of standard input as changed, and never asks NetworkManager.
  nmcli: [{ words: ['--offline', 'connection', 'modify', 'connection.autoconnect', 'yes'] }],
  ctr: ['ls', 'list'].map((verb) => ({
    leading: { '-n': NAMESPACE, '--namespace': NAMESPACE, '-a': PATH, '--address': PATH },
    words: ['images', verb],
    flags: ['-q', '--quiet'],
    operands: { pattern: ANY },
  })),
  timedatectl: [
    ...['show', 'show-timesync'].map((verb) => ({
      words: [verb],
      flags: ['--value', '--all', '-a', '--no-pager'],
      valued: { '--property': PROPERTIES, '-p': PROPERTIES },
    })),
    { words: ['timesync-status'], flags: ['--no-pager'] },
  ],
  // chronyc(1), ntpq(8): both also have commands that change the daemon; only the named ones are allowed.
  chronyc: ['tracking', 'sources'].map((report) => ({ words: ['-c', '-n', report] })),
  ntpq: [{ words: ['-n', '-p'] }, { words: ['-n', '-c'], operands: { pattern: /^rv 0( [a-z,]+)?$/, min: 1, max: 1 } }],
  // adcli(8): these only authenticate or query; all other commands write to the directory or the keytab.
  adcli: [
    { words: ['testjoin'], valued: { '--domain': ANY, '--domain-controller': ANY, '--host-keytab': PATH } },
    { words: ['info'], valued: { '--domain': ANY } },
  ],
  // getfattr(1) only reads.
  getfattr: [
    {
      needs: ['--dump'],
      flags: words('--dump --no-dereference --absolute-names'),
      valued: { '--match': /^-$/, '--encoding': /^hex$/ },
      operands: { pattern: PATH, min: 1, max: 1 },
    },
  ],
  // dig(1): without -f, which reads a file of queries, and -k, which reads a key.
  dig: [{ flags: ['+short', '+time=3', '+tries=2'], operands: { pattern: /^@?[A-Za-z0-9.:-]+$/, min: 2, max: 3 } }],
  // visudo(8): without -c it opens an editor; -x exports to a file.
  visudo: [
    {
      needs: ['-c', '--check'],
      flags: ['-c', '--check', '-q', '--quiet', '-s', '--strict'],
      valued: { '-f': PATH_OR_STDIN, '--file': PATH_OR_STDIN },
    },
  ],
  // XCU sh, set: with -n commands are read and not executed; the script is the standard input.
  sh: [{ needs: ['-n'], flags: ['-n'] }],
  bash: [{ leading: { '-O': /^extglob$/ }, needs: ['-n'], flags: ['-n'] }],
  // sshd(8): with -t it reads its configuration and its keys, and ends.
  sshd: [{ needs: ['-t'], flags: ['-t'], valued: { '-f': PATH } }],
  // systemd-analyze(1): verify loads units as the service manager would, without it; generators run only when asked for.
  'systemd-analyze': [{ words: ['verify'], flags: ['--man=no'], operands: { pattern: PATH, min: 1 } }],
};

/** The programs of the closed list. */
export const QUERY_PROGRAMS: readonly string[] = Object.keys(QUERIES);

/** True when this program with these arguments is on the closed list of commands that change nothing. */
export function isQuery(program: string, args: readonly string[]): boolean {
  const name = BY_PATH.exec(program)?.[1] ?? program;
  if (!Object.hasOwn(QUERIES, name)) return false;
  return (QUERIES[name] ?? []).some((form) => matches(form, args));
}

/** Refuses a command that is not on the allowlist. Throws `InternalError`: no document can cause this. */
export function assertQuery(query: Query): void {
  if (isQuery(query.program, query.args)) return;
  throw new MachineadmError({
    reason: 'InternalError',
    summary: `${query.program} was called with arguments that are not on the list of read-only queries`,
    remedy: 'This is a defect in machineadm; please report it with the support bundle.',
  });
}

function words(...lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => line.split(' '));
}
