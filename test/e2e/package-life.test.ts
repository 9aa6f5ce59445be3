import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { nativeTarget } from '../../scripts/build/runtime.ts';
import { buildLab, buildLayer, buildSuiteImage } from '../../scripts/lab/artefacts.ts';
import { packageInto } from '../../scripts/package.ts';
import { type BakedLayer, bake } from '../support/bake.ts';
import { FIRST_BOOT_IN_LAB } from '../support/first-boot-in-lab.ts';
import { Fleet, LAB, type Node, progress, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');
const UNITS = join(ROOT, 'packaging/systemd');
const ENABLEABLE = readdirSync(UNITS).filter((name) => readFileSync(join(UNITS, name), 'utf8').includes('[Install]'));
const RESUME = 'machineadm-resume.service';

/** A hook of every boot makes a run write and enable a unit of its own. */
const DOCUMENT = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: package}
host:
  files: [{path: /etc/e2e-package, content: "applied\\n"}]
  hooks:
    early:
      frequency: Always
      commands: ['echo boot >>/root/boots']
`;

/** As an image enables a unit (docs/packages.md, "Presets"). */
const ENABLED = `systemctl enable ${RESUME}
mkdir -p /etc/systemd/system-preset
echo 'enable ${RESUME}' >/etc/systemd/system-preset/10-machineadm.preset
`;

/** Turns the bookworm image into one of Fedora's kind, as far as a package sees it: rpm, its presets, no dpkg. */
const FEDORA = `printf 'ID=fedora\\nVERSION_ID=41\\nPRETTY_NAME="Fedora-like"\\n' >/usr/lib/os-release
rm -rf /var/lib/dpkg /usr/bin/dpkg /usr/bin/apt-get
printf 'enable lab-probe.service\\n' >/usr/lib/systemd/system-preset/90-default.preset
echo 'disable *' >/usr/lib/systemd/system-preset/99-default-disable.preset
rpm --upgrade /bake/base.rpm
`;

/** A package that provides what Fedora's own packages do: machineadm's dependencies are then resolved, not left out. */
const BASE_SPEC = `Name: base
Version: 1
Release: 1
Summary: What a system of this kind provides
License: MIT
BuildArch: noarch
Provides: glibc = 2.40, libstdc++ = 14, libgcc = 14, util-linux = 2.40, coreutils = 9.5, /bin/sh
%description
For tests.
%files
`;

interface System {
  readonly name: string;
  readonly machine: { readonly name: string; readonly ip: string };
  readonly lower: () => Promise<readonly string[]>;
  /** Before the package is installed. */
  readonly prepare: string;
  readonly install: (file: string) => string;
  readonly verify: string;
  readonly remove: string;
  /** Removes what removal left; undefined where there is no such thing. */
  readonly purge?: string;
}

const deb = {
  prepare: '',
  install: (file: string) => `dpkg --install ${file}.deb`,
  verify: 'dpkg --verify machineadm',
  remove: 'dpkg --remove machineadm',
  purge: 'dpkg --purge machineadm',
};

const systems: readonly System[] = [
  {
    name: 'bookworm',
    machine: { name: 'pkg-deb12', ip: '10.99.0.91' },
    lower: async () => [(await buildLab(progress)).root],
    ...deb,
  },
  {
    name: 'trixie',
    machine: { name: 'pkg-deb13', ip: '10.99.0.92' },
    lower: async () => [await buildSuiteImage('trixie', progress)],
    ...deb,
  },
  {
    name: 'a system like Fedora',
    machine: { name: 'pkg-rpm', ip: '10.99.0.93' },
    lower: async () => [await buildLayer('rpm', progress), (await buildLab(progress)).root],
    prepare: FEDORA,
    install: (file) => `rpm --upgrade --nosignature ${file}.rpm`,
    verify: 'rpm --verify machineadm',
    remove: 'rpm --erase machineadm',
  },
];

describe('a package from the bake of an image to its removal', {
  skip: needs(...LAB),
  timeout: 40 * MINUTE,
}, () => {
  const shared = mkdtempSync(join(tmpdir(), 'machineadm-package-life-'));

  const fleet = Fleet.ofSuite(
    async () => {
      for (const version of ['1', '2']) {
        const dist = join(shared, version);
        mkdirSync(dist);
        for (const name of ['machineadm', nativeTarget().file, 'LICENSES.txt', `${nativeTarget().file}.cdx.json`]) {
          symlinkSync(join(ROOT, 'dist', name), join(dist, name));
        }
        const options = {
          root: ROOT,
          targets: [nativeTarget()],
          version: `0.${version}.0`,
          epoch: 1_700_000_000,
          level: 0,
        };
        for (const file of await packageInto(dist, options)) {
          renameSync(file, join(shared, `${version}${basename(file).replace(/^.*(\.\w+)$/, '$1')}`));
        }
        rmSync(dist, { recursive: true });
      }
      writeFileSync(join(shared, 'base.spec'), BASE_SPEC);
      const places = ['_topdir', '_rpmdir', '_builddir'].flatMap((name) => ['--define', `${name} ${shared}`]);
      execFileSync('rpmbuild', [
        '-bb',
        '--quiet',
        ...places,
        '--define',
        '_build_name_fmt base.rpm',
        join(shared, 'base.spec'),
      ]);
    },
    { kind: 'host' },
  );
  after(() => rmSync(shared, { recursive: true, force: true }));

  for (const system of systems) {
    test(`works on ${system.name}`, { timeout: 15 * MINUTE }, async (context) => {
      const { machine, prepare, install, verify, remove, purge } = system;
      const lower = await system.lower();
      const baked: BakedLayer = bake(lower, shared, `${FIRST_BOOT_IN_LAB}${prepare}${install('/bake/1')}\n${ENABLED}`);
      context.after(() => baked.remove());
      const [root = '', ...layers] = [...lower].reverse();
      // machine-id(5), "FIRST BOOT SEMANTICS": process 1 applies the presets.
      const node: Node = await fleet.start({
        ...machine,
        root,
        lower: [baked.path, ...layers.reverse()],
        machineId: 'uninitialized',
        withoutAgent: true,
      });
      const shell = async (script: string): Promise<string> => (await node.machine.shell(script)).trim();
      const enabled = () =>
        shell(`for unit in ${ENABLEABLE.join(' ')}; do systemctl is-enabled $unit 2>&1 | sed "s/^/$unit /"; done`);
      const asBaked = ENABLEABLE.map((unit) => `${unit} ${unit === RESUME ? 'enabled' : 'disabled'}`).join('\n');
      const failed = () => shell("systemctl list-units --all --failed --plain --no-legend 'machineadm-*'");
      const rest = () =>
        shell(
          "find /etc /usr /var /opt /run -xdev -name '*machineadm*' ! -path '/run/systemd/*' ! -path '/usr/share/doc/*' ! -path '/var/lib/dpkg/*' | sort",
        );

      assert.equal(await shell('systemctl is-enabled lab-probe.service'), 'enabled', 'no presets were applied');
      assert.equal(await enabled(), asBaked);
      assert.equal(await shell(verify), '');

      await node.machine.write('/etc/machineadm/bootstrap.yaml', DOCUMENT, '600');
      const run = await node.machine.exec(['machineadm', 'provision', '-d', '/etc/machineadm/bootstrap.yaml']);
      assert.equal(run.status, 0, told(run));

      for (const version of ['1', '2']) {
        for (const kind of ['deb', 'rpm'])
          await node.machine.copyIn(join(shared, `${version}.${kind}`), `/root/${version}.${kind}`);
      }
      await shell(install('/root/2'));
      assert.equal(await enabled(), asBaked);
      await node.machine.reboot();
      assert.equal(await shell('cat /root/boots'), 'boot\nboot');
      assert.equal(await failed(), '');

      await shell(remove);
      await node.machine.reboot();
      assert.equal(await failed(), '', 'a unit fails for want of its program');
      assert.equal(await shell('cat /root/boots'), 'boot\nboot', 'nobody ran the hook');
      const kept = ['/etc/machineadm', '/etc/systemd/system-preset/10-machineadm.preset'];
      const unit = ['', 'multi-user.target.wants/'].map(
        (place) => `/etc/systemd/system/${place}machineadm-hooks.service`,
      );
      assert.equal(await rest(), [...kept, ...unit, '/var/lib/machineadm'].join('\n'));

      await shell(install('/root/1'));
      await node.machine.reboot();
      assert.equal(await shell('cat /root/boots'), 'boot\nboot\nboot', 'the hook runs again');
      if (purge === undefined) return await fleet.remove(node);

      await shell(purge);
      assert.equal(await rest(), [...kept, '/run/machineadm', '/var/lib/machineadm'].join('\n'));
      await fleet.remove(node);
    });
  }
});
