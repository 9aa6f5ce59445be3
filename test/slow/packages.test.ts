import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  globSync,
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
import { gunzipSync } from 'node:zlib';
import { fileDigest } from '../../scripts/build/inputs.ts';
import { billOfMaterialsFile, nativeTarget } from '../../scripts/build/runtime.ts';
import { buildWindowsZip } from '../../scripts/package/windows.ts';
import { zip } from '../../scripts/package/zip.ts';
import { packageInto } from '../../scripts/package.ts';
import { packageSigner } from '../../scripts/release/openpgp.ts';
import { buildRepositories } from '../../scripts/release/repositories.ts';
import { makeRelease } from '../../scripts/release.ts';
import { needs } from '../support/needs.ts';
import { newKey } from '../support/release.ts';

const root = resolve(import.meta.dirname, '../..');
const overlay = join(root, 'scripts/quickstart/overlay.sh');
const EPOCH = 1_700_000_000;

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

describe('the packages for Linux', { skip: needs('dpkg', 'rpmbuild', 'xz') }, () => {
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

  test('pass lintian with every tag explained', { skip: needs('lintian') }, () => {
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
      programs: ['dpkg'],
      install: (file: string) => `dpkg --install ${file} >/dev/null`,
      verify: 'dpkg --verify machineadm',
      remove: 'dpkg --remove machineadm >/dev/null 2>&1',
    },
    {
      // Its dependencies are packages of another kind of system; what they hold is there.
      name: 'rpm',
      programs: ['rpmbuild'],
      install: (file: string) => `rpm --upgrade --nodeps --nosignature ${file}`,
      verify: 'rpm --verify --nodeps machineadm',
      remove: 'rpm --erase machineadm >/dev/null 2>&1',
    },
  ] as const;

  for (const { name, programs, install, verify, remove } of managers) {
    const skip = needs('root', ...programs, 'systemctl');
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
    skip: needs('root', 'dpkg', 'systemctl'),
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
    skip: needs('root', 'dpkg'),
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

describe('the repositories for apt and dnf', {
  skip: needs('dpkg', 'rpmbuild', 'xz', 'gpg', 'createrepo_c'),
}, () => {
  // A socket of gpg-agent lies in the keyring: its path must be short.
  const keyring = mkdtempSync(join(tmpdir(), 'gpg-'));
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-repositories-'));
  const repositories = join(directory, 'repositories');
  const gpg = (...args: readonly string[]) =>
    execFileSync('gpg', ['--homedir', keyring, '--batch', '--quiet', ...args], { encoding: 'utf8', stdio: 'pipe' });
  const versions = ['0.1.0', '0.2.0'];
  const native = nativeTarget();
  const names = native.architecture === 'x64' ? ['amd64', 'x86_64'] : ['arm64', 'aarch64'];

  before(async () => {
    const address = 'packages@example.com';
    gpg('--passphrase', '', '--quick-generate-key', `Packages <${address}>`, 'ed25519', 'sign', 'never');
    const signer = packageSigner(address, keyring);
    for (const version of versions) {
      const from = join(directory, `built-${version}`);
      mkdirSync(from);
      for (const name of ['machineadm', native.file]) {
        writeFileSync(join(from, name), BINARY.replace('machineadm $*', `machineadm ${version} $*`), { mode: 0o755 });
      }
      writeFileSync(join(from, 'LICENSES.txt'), 'licences\n');
      writeFileSync(join(from, billOfMaterialsFile(native)), '{}\n');
      await packageInto(from, { root, targets: [native], version, epoch: EPOCH, level: 0 });
      const of = { version, commit: 'test', createdAt: new Date(EPOCH * 1000), minimumVersion: version };
      const to = join(directory, 'release');
      await makeRelease({ ...of, from, to, revokedKeys: [], packageSigner: signer }, newKey());
      await buildRepositories(to, repositories, signer);
    }
  });
  after(() => {
    spawnSync('gpgconf', ['--homedir', keyring, '--kill', 'all']);
    for (const path of [keyring, directory]) rmSync(path, { recursive: true, force: true });
  });

  test('hold the packages of every release, and indexes that name their digests', async () => {
    const apt = join(repositories, 'apt');
    const packages = readFileSync(join(apt, `dists/stable/main/binary-${names[0]}/Packages`), 'utf8');
    for (const version of versions) {
      const [, file = ''] = new RegExp(`^Version: ${version}$[\\s\\S]*?^Filename: (.*)$`, 'm').exec(packages) ?? [];
      const digest = await fileDigest(join(apt, file));
      assert.match(packages, new RegExp(`^SHA256: ${digest}$`, 'm'));
      assert.equal(digest, await fileDigest(join(directory, 'release', version, basename(file))));
    }
    const index = gunzipSync(
      readFileSync(globSync(join(repositories, 'rpm/repodata/*-primary.xml.gz'))[0] ?? ''),
    ).toString();
    for (const version of versions) {
      const rpm = `machineadm-${version}-1.${names[1]}.rpm`;
      assert.ok(index.includes(`Packages/${rpm}`), index);
      assert.ok(index.includes(`${await fileDigest(join(directory, 'release', version, rpm))}`));
    }
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.startsWith('.')),
      [],
    );
  });

  test('are signed by the key beside them: the index for apt, the one for dnf, and each rpm', () => {
    const key = join(repositories, 'machineadm.asc');
    const keys = join(directory, 'keys.gpg');
    gpg('--no-default-keyring', '--dearmor', '--output', keys, key);
    const proved = (...files: readonly string[]) =>
      spawnSync('gpgv', ['--keyring', keys, ...files.map((file) => join(repositories, file))]).status;
    assert.equal(proved('apt/dists/stable/InRelease'), 0);
    assert.equal(proved('apt/dists/stable/Release.gpg', 'apt/dists/stable/Release'), 0);
    assert.equal(proved('rpm/repodata/repomd.xml.asc', 'rpm/repodata/repomd.xml'), 0);
    assert.notEqual(proved('rpm/repodata/repomd.xml.asc', 'apt/dists/stable/Release'), 0);
    const database = join(directory, 'rpmdb');
    execFileSync('rpmkeys', ['--dbpath', database, '--import', key], { stdio: 'pipe' });
    const rpms = globSync(join(repositories, 'rpm/Packages/*.rpm'));
    assert.equal(rpms.length, versions.length);
    for (const rpm of rpms) {
      const check = ['--dbpath', database, '--define', '_pkgverify_level all', '--checksig', '--verbose', rpm];
      assert.match(
        execFileSync('rpmkeys', check, { encoding: 'utf8', stdio: 'pipe' }),
        /Header V4 EdDSA\/SHA256 Signature.*: OK/,
      );
      // Somebody who does not have the key does not get the answer that all is well.
      assert.throws(() =>
        execFileSync('rpmkeys', ['--dbpath', join(directory, 'no-keys'), ...check.slice(2)], { stdio: 'pipe' }),
      );
    }
  });

  test('are used by the real apt, which refuses a changed package and an index signed by nobody it trusts', {
    skip: needs('root', 'apt-get', 'dpkg'),
  }, () => {
    // apt reads and writes nothing but this: the machine's own sources and their keys stay out.
    const script = `
      rm -rf /etc/machineadm /etc/apt/sources.list /etc/apt/sources.list.d/* /var/lib/apt/lists/*
      cp -r /quickstart/repositories /srv/repositories
      chmod -R a+rX /srv/repositories
      cp /srv/repositories/machineadm.asc /etc/apt/keyrings/
      echo 'deb [signed-by=/etc/apt/keyrings/machineadm.asc] file:///srv/repositories/apt stable main' > /etc/apt/sources.list.d/machineadm.list
      export DEBIAN_FRONTEND=noninteractive
      echo 'Dpkg::Use-Pty "0";' > /etc/apt/apt.conf.d/99-no-terminal
      apt-get -qq update
      apt-cache policy machineadm | grep -c 'file:/srv/repositories/apt stable/main'
      apt-get -qq install machineadm=0.1.0 >/dev/null 2>&1
      machineadm version
      apt-get -qq upgrade >/dev/null 2>&1
      machineadm version
      apt-get -qq purge machineadm >/dev/null 2>&1
      apt-get clean
      for deb in /srv/repositories/apt/pool/main/m/machineadm/*0.2.0*; do printf x >> "$deb"; done
      if apt-get -qq install machineadm >/dev/null 2>/tmp/said; then echo 'a changed package was installed'; fi
      grep -o -m 1 'Hash Sum mismatch' /tmp/said || cat /tmp/said
      sed -i 's/^Suite: stable/Suite: changed/' /srv/repositories/apt/dists/stable/InRelease
      rm -rf /var/lib/apt/lists/*
      if apt-get -qq update 2>/tmp/said; then echo 'a changed index was read'; fi
      grep -o -m 1 'signatures were invalid' /tmp/said || cat /tmp/said
    `;
    const { status, stdout, stderr } = spawnSync(
      'sh',
      [overlay, directory, 'sh', '-euc', `mkdir -p /srv /etc/apt/keyrings; ${script}`],
      {
        encoding: 'utf8',
      },
    );
    assert.equal(status, 0, stdout + stderr);
    assert.equal(
      stdout,
      '2\nmachineadm 0.1.0 version\nmachineadm 0.2.0 version\nHash Sum mismatch\nsignatures were invalid\n',
    );
  });
});

describe('the archive for Windows', () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-zip-'));
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('is read by an unzip of another program, and says of each file that it is right', {
    skip: needs('python3'),
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
