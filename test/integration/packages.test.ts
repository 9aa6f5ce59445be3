import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileDigest } from '../../scripts/build/inputs.ts';
import { billOfMaterialsFile, nativeTarget } from '../../scripts/build/runtime.ts';
import { buildWindowsZip } from '../../scripts/package/windows.ts';
import { zip } from '../../scripts/package/zip.ts';
import { packageInto } from '../../scripts/package.ts';

const root = resolve(import.meta.dirname, '../..');
const overlay = join(root, 'scripts/quickstart/overlay.sh');
const EPOCH = 1_700_000_000;

function lacks(...programs: readonly string[]): string | false {
  const missing = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  return missing.length === 0 ? false : `needs ${missing.join(', ')}`;
}

/** A stand-in for the binary that speaks as it does where packaging listens: the packages' other contents are the real ones. */
const BINARY = `#!/bin/sh
case $1 in
  completion) echo "# completion of machineadm for $2" ;;
  sentinel) echo "restored /run/cluster-api/bootstrap-success.complete" >&2 ;;
  *) echo "machineadm $*" ;;
esac
`;
/** The units that an image may have enabled. */
const ENABLEABLE = readdirSync(join(root, 'packaging/systemd')).filter((name) =>
  readFileSync(join(root, 'packaging/systemd', name), 'utf8').includes('[Install]'),
);

describe('the packages for Linux', { skip: lacks('dpkg-deb', 'rpmbuild', 'xz') }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-packages-'));
  const [first, second] = [join(directory, 'first'), join(directory, 'second')];
  const architecture = nativeTarget().architecture;
  let deb = '';
  let rpm = '';
  let newer: readonly string[] = [];

  before(async () => {
    for (const dist of [first, second]) {
      mkdirSync(dist);
      for (const name of ['machineadm', nativeTarget().file]) writeFileSync(join(dist, name), BINARY, { mode: 0o755 });
      writeFileSync(join(dist, 'LICENSES.txt'), 'licences\n');
      writeFileSync(join(dist, billOfMaterialsFile(nativeTarget())), '{}\n');
      const options = { root, targets: [nativeTarget()], version: '0.1.0', epoch: EPOCH, level: 0 };
      // As somebody else would, at another time and with another umask.
      const before = process.umask(dist === second ? 0o077 : 0o022);
      try {
        const written = await packageInto(dist, options);
        if (dist === first) [deb = '', rpm = ''] = written;
      } finally {
        process.umask(before);
      }
    }
    const options = { root, targets: [nativeTarget()], version: '0.2.0', epoch: EPOCH, level: 0 };
    newer = await packageInto(first, options);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('are named as their systems name them', () => {
    const [debian, redHat] = architecture === 'x64' ? ['amd64', 'x86_64'] : ['arm64', 'aarch64'];
    assert.deepEqual(
      [deb, rpm].map((file) => basename(file)),
      [`machineadm_0.1.0_${debian}.deb`, `machineadm-0.1.0-1.${redHat}.rpm`],
    );
  });

  test('are the same bytes when they are built again', async () => {
    for (const file of [deb, rpm]) {
      assert.equal(await fileDigest(join(second, basename(file))), await fileDigest(file), basename(file));
    }
  });

  test('hold the same files, of root, with the modes of the contract', () => {
    const debFiles = execFileSync('dpkg-deb', ['--contents', deb], { encoding: 'utf8' });
    const rpmFiles = execFileSync('rpm', ['-qplv', '--nosignature', rpm], { encoding: 'utf8' });
    for (const listing of [debFiles, rpmFiles]) {
      assert.match(listing, /^drwx------ .*\/etc\/machineadm\/?$/m);
      assert.match(listing, /^-rwxr-xr-x .*\/usr\/bin\/machineadm$/m);
      assert.match(listing, /^-rw-r--r-- .*\/usr\/lib\/systemd\/system\/machineadm-provision\.service$/m);
      assert.match(listing, /^-rw-r--r-- .*\/usr\/lib\/sysusers\.d\/machineadm\.conf$/m);
      assert.match(listing, /^-rw-r--r-- .*\/usr\/lib\/systemd\/system-preset\/80-machineadm\.preset$/m);
      for (const unit of readdirSync(join(root, 'packaging/systemd'))) {
        assert.ok(listing.includes(`/usr/share/man/man8/${unit}.8.gz`), unit);
      }
      const owners = listing
        .trim()
        .split('\n')
        .map((line) => line.replaceAll('/', ' ').split(/\s+/));
      assert.ok(
        owners.every((fields) => fields.includes('root')),
        listing,
      );
      assert.doesNotMatch(listing, /usr\/local/);
    }
  });

  test('depend on the libraries that the contract names', () => {
    assert.match(execFileSync('dpkg-deb', ['--field', deb, 'Depends'], { encoding: 'utf8' }), /libc6 \(>= 2\.28\)/);
    const requires = execFileSync('rpm', ['-qp', '--requires', '--nosignature', rpm], { encoding: 'utf8' });
    assert.match(requires, /^glibc >= 2\.28$/m);
  });

  test('pass lintian with every tag explained', { skip: lacks('lintian') }, () => {
    // What the stand-in is and the program is not: a script of no known size. Tags about the program itself are
    // explained in the same file, and are met where the program itself is packed.
    const { status, stdout } = spawnSync(
      'lintian',
      ['--allow-root', '--fail-on', 'error,warning', '--no-tag-display-limit', deb],
      {
        encoding: 'utf8',
      },
    );
    assert.equal(status, 0, stdout);
  });

  const noRoot = process.getuid?.() === 0 ? false : 'needs root';

  /** The index of manual pages is renewed at every installation otherwise, which takes seconds (man-db's postinst). */
  const WITHOUT_INDEX = 'rm -f /var/lib/man-db/auto-update';

  /** Runs a script in a throw-away copy of this machine, where the packages lie at /quickstart. */
  function inCopy(script: string): string {
    const shared = join(directory, 'shared');
    mkdirSync(join(shared, 'newer'), { recursive: true });
    for (const file of [deb, rpm]) copyFileSync(file, join(shared, basename(file)));
    for (const file of newer) copyFileSync(file, join(shared, 'newer', basename(file)));
    chmodSync(shared, 0o755);
    const { status, stdout, stderr } = spawnSync('sh', [overlay, shared, 'sh', '-euc', `${WITHOUT_INDEX}\n${script}`], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
    return stdout;
  }

  /** Says whether the group of the status is there, has a number of the system and no members. */
  const GROUP = `getent group machineadm | awk -F: '{print $1, ($3 < 1000), $4 == ""}'`;

  /** Everything that a package could have left. */
  const REST = `find / \\( -path /proc -o -path /sys -o -path /quickstart -o -path /var/lib/dpkg -o -path /var/lib/rpm -o -path /dev -o -path /tmp \\) -prune \
    -o \\( -iname '*machineadm*' -o -path '/run/cluster-api/*' \\) -print | sort`;

  /** What a run left: its state, its document, and the units that it wrote and enabled. */
  const BOOTSTRAPPED = `
    mkdir -p /var/lib/machineadm /run/systemd/system; echo state > /var/lib/machineadm/journal
    for name in hooks sentinel; do
      printf '[Service]\nType=oneshot\nExecStart=/usr/bin/machineadm %s\n[Install]\nWantedBy=multi-user.target\n' $name \
        > /etc/systemd/system/machineadm-$name.service
      systemctl --quiet --root=/ enable machineadm-$name.service 2>/dev/null
    done`;

  /** How an image enables a unit, as the page about packages says it. */
  const documented = /^## Presets$[\s\S]*?^```sh\n([\s\S]*?)^```$/m
    .exec(readFileSync(join(root, 'docs/packages.md'), 'utf8'))?.[1]
    ?.replaceAll('systemctl enable', 'systemctl --quiet --root=/ enable');
  assert.ok(documented?.includes('system-preset/'), 'docs/packages.md: "Presets" has lost its commands');

  /** The kinds of package that this machine can install, and how. */
  const managers = [
    {
      name: 'deb',
      needs: ['dpkg'],
      install: (file: string) => `dpkg --install ${file} >/dev/null`,
      verify: 'dpkg --verify machineadm',
      remove: 'dpkg --remove machineadm >/dev/null 2>&1',
    },
    {
      // Its dependencies are packages of another kind of system; what they hold is there.
      name: 'rpm',
      needs: ['rpm'],
      install: (file: string) => `rpm --upgrade --nodeps --nosignature ${file}`,
      verify: 'rpm --verify --nodeps machineadm',
      remove: 'rpm --erase machineadm >/dev/null 2>&1',
    },
  ] as const;

  for (const { name, needs, install, verify, remove } of managers) {
    const skip = noRoot || lacks(...needs, 'systemctl');
    const lines = (output: string): readonly string[] => output.trim().split('\n');

    test(`the ${name} is installed, verified, upgraded and removed; an upgrade keeps what was enabled`, {
      skip,
    }, () => {
      const output = inCopy(`
        rm -rf /etc/machineadm
        ${install(`/quickstart/*.${name}`)}
        ${GROUP}
        id=$(getent group machineadm)
        machineadm version
        ${verify}
        systemd-analyze verify --man=no /usr/lib/systemd/system/machineadm-* 2>&1
        for unit in ${ENABLEABLE.join(' ')}; do man --where --sections=8 "$unit" >/dev/null || echo "no page of $unit"; done
        grep -h ^ExecStart= /usr/lib/systemd/system/machineadm-provision.service
        systemctl --quiet enable ${ENABLEABLE.join(' ')} 2>/dev/null
        ${install(`/quickstart/newer/*.${name}`)}
        ${verify}
        systemctl is-enabled ${ENABLEABLE.join(' ')} | sort | uniq -c
        mkdir -p /var/lib/machineadm; echo state > /var/lib/machineadm/journal
        ${remove}
        test "$(getent group machineadm)" = "$id"
        ${REST}`);
      assert.deepEqual(lines(output), [
        'machineadm 1 1',
        'machineadm version',
        'ExecStart=/usr/bin/machineadm provision --boot -d /etc/machineadm/bootstrap.yaml',
        `${ENABLEABLE.length}`.padStart(7).concat(' enabled'),
        '/var/lib/machineadm',
      ]);
    });

    test(`no unit of the ${name} is enabled by the presets of a first boot, but for one that the image names`, {
      skip,
    }, () => {
      // As process 1 does where /etc/machine-id is missing or "uninitialized" (machine-id(5), "FIRST BOOT SEMANTICS"):
      // Debian's systemd only enables, Fedora's resets every unit.
      const output = inCopy(`
        ${install(`/quickstart/*.${name}`)}
        ${BOOTSTRAPPED}
        rm -rf /run/systemd/system
        for mode in enable-only full; do
          systemctl --quiet preset-all --preset-mode=$mode 2>/dev/null
          for unit in ${ENABLEABLE.join(' ')}; do echo "$mode $unit $(systemctl is-enabled $unit || true)"; done
        done
        systemctl is-enabled machineadm-hooks.service machineadm-sentinel.service
        ${documented}
        systemctl --quiet preset-all --preset-mode=full 2>/dev/null
        systemctl is-enabled machineadm-resume.service`);
      assert.deepEqual(lines(output), [
        ...['enable-only', 'full'].flatMap((mode) => ENABLEABLE.map((unit) => `${mode} ${unit} disabled`)),
        ...['enabled', 'enabled', 'enabled'],
      ]);
    });

    test(`the ${name} of a node is removed: its sentinel outlives a reboot, on this machine only, until the package is back`, {
      skip,
    }, () => {
      const output = inCopy(`
        echo 0123456789abcdef0123456789abcdef > /etc/machine-id
        ${install(`/quickstart/*.${name}`)}
        ${BOOTSTRAPPED}
        ${remove}
        test ! -e /usr/bin/machineadm
        cat /etc/systemd/system/machineadm-sentinel.service.d/package-removed.conf | grep -v '^#'
        systemctl --root=/ is-enabled machineadm-sentinel.service
        systemd-analyze verify --man=no /etc/systemd/system/machineadm-sentinel.service 2>&1
        umask 077
        sed -n 's/^ExecStart=\\(.*sh.*\\)/\\1/p' /etc/systemd/system/machineadm-sentinel.service.d/*.conf | sh
        stat --format='%a %n' /run/cluster-api /run/cluster-api/bootstrap-success.complete
        cat /run/cluster-api/bootstrap-success.complete
        ${install(`/quickstart/newer/*.${name}`)}
        find /etc/systemd/system -name '*machineadm*' | sort`);
      assert.equal(
        output,
        `[Unit]
ConditionFileIsExecutable=
ConditionHost=0123456789abcdef0123456789abcdef

[Service]
ExecStart=
ExecStart=/bin/sh -c 'umask 022; mkdir -p /run/cluster-api && echo success >/run/cluster-api/bootstrap-success.complete'
enabled
755 /run/cluster-api
644 /run/cluster-api/bootstrap-success.complete
success
/etc/systemd/system/machineadm-hooks.service
/etc/systemd/system/machineadm-sentinel.service
/etc/systemd/system/multi-user.target.wants/machineadm-hooks.service
/etc/systemd/system/multi-user.target.wants/machineadm-sentinel.service
`,
      );
    });
  }

  test('a purge of the deb leaves the state of the node and its document, and nothing else', {
    skip: noRoot || lacks('dpkg', 'systemctl'),
  }, () => {
    const output = inCopy(`
      rm -rf /etc/machineadm
      dpkg --install /quickstart/*.deb >/dev/null
      ${BOOTSTRAPPED}
      echo document > /etc/machineadm/bootstrap.yaml
      systemctl --root=/ --quiet enable machineadm-provision.service 2>/dev/null
      dpkg --purge machineadm >/dev/null 2>&1
      ${REST}
      cat /var/lib/machineadm/journal
      dpkg --install /quickstart/*.deb >/dev/null
      rm /etc/machineadm/bootstrap.yaml
      dpkg --purge machineadm >/dev/null 2>&1
      ${REST}`);
    const state = '/var/lib/machineadm';
    assert.deepEqual(output.trim().split('\n'), ['/etc/machineadm', state, 'state', state]);
  });

  test('a system without systemd-sysusers gets the group as well; one without either program installs the package', {
    skip: noRoot || lacks('dpkg', 'groupadd'),
  }, () => {
    const output = inCopy(`
      rm /usr/bin/systemd-sysusers
      dpkg --install /quickstart/*.deb >/dev/null
      ${GROUP}
      dpkg --purge machineadm >/dev/null 2>&1
      groupdel machineadm
      rm "$(command -v groupadd)"
      dpkg --install /quickstart/*.deb >/dev/null
      machineadm version
      getent group machineadm || echo none`);
    assert.equal(output, 'machineadm 1 1\nmachineadm version\nnone\n');
  });
});

describe('the archive for Windows', () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-zip-'));
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('is read by an unzip of somebody else, and says of each file that it is right', {
    skip: lacks('python3'),
  }, async () => {
    const files = {
      'a.exe': Buffer.from('MZ'.repeat(50_000)),
      'LICENSES.txt': Buffer.from('grün\n'),
      'b.json': Buffer.from('{}'),
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
    const file = await buildWindowsZip(
      {
        root,
        version: '0.1.0',
        epoch: EPOCH,
        binary: join(directory, 'a.exe'),
        nativeBinary: '/nonexistent',
        licenses: join(directory, 'LICENSES.txt'),
        billOfMaterials: join(directory, 'b.json'),
      },
      directory,
    );
    const out = join(directory, 'out');
    const script =
      'import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nz.extractall(sys.argv[2])\nprint(*z.namelist())';
    const names = execFileSync('python3', ['-c', script, file, out], { encoding: 'utf8' });
    assert.equal(names, 'machineadm.exe LICENSES.txt machineadm.cdx.json install.ps1 SHA256SUMS\n');
    assert.deepEqual(readFileSync(join(out, 'machineadm.exe')), files['a.exe']);
    execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: out, stdio: 'pipe' });
    // 7-bit, as Windows PowerShell 5.1 reads a script without a mark in the code page of the system.
    assert.ok(readFileSync(join(out, 'install.ps1')).every((byte) => byte < 128));
  });

  test('is the same bytes when it is built again', async () => {
    const digests: (string | undefined)[] = [];
    for (const name of ['one', 'two']) {
      const output = join(directory, name);
      mkdirSync(output);
      writeFileSync(join(output, 'a'), 'the same');
      const files = { binary: join(output, 'a'), licenses: join(output, 'a'), billOfMaterials: join(output, 'a') };
      const source = { root, version: '0.1.0', epoch: EPOCH, nativeBinary: '/nonexistent', ...files };
      digests.push(await fileDigest(await buildWindowsZip(source, output)));
    }
    assert.equal(digests[0], digests[1]);
    assert.match(digests[0] ?? '', /^[0-9a-f]{64}$/);
  });

  test('of other files is other bytes, of the same the same', () => {
    const files = { a: Buffer.from('a'), b: Buffer.from('b') };
    assert.deepEqual(zip(files), zip(files));
    assert.notDeepEqual(zip(files), zip({ ...files, b: Buffer.from('c') }));
  });
});
