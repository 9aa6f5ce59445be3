import assert from 'node:assert/strict';
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { buildLab, buildSuiteImage } from '../../scripts/lab/artefacts.ts';
import { type BakedLayer, bake } from '../support/bake.ts';
import { FIRST_BOOT_IN_LAB } from '../support/first-boot-in-lab.ts';
import { Fleet, LAB, progress } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');
/** The page, whose blocks are run as they are: docs/adapt-distribution.md. */
const PAGE = readFileSync(join(ROOT, 'docs/adapt-distribution.md'), 'utf8');

/** The block of this language below a heading. */
function block(step: number, language: 'sh' | 'yaml'): string {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${step}. `)) ?? '';
  const [, text] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(section) ?? [];
  assert.ok(text !== undefined, `step ${step} has no block of ${language}`);
  return text;
}

/** The layout of ostree (ostree(1), "adapting"): /usr is read-only on the machine, what machines write is below /var. */
const OSTREE = `rm -rf "$ROOT/usr/local" "$ROOT/opt"
ln -s ../var/usrlocal "$ROOT/usr/local"
ln -s var/opt "$ROOT/opt"
mkdir -p "$ROOT/var/usrlocal" "$ROOT/var/opt/images"
cat >"$ROOT/etc/systemd/system/lab-usr.service" <<'END'
[Unit]
Description=Lab: /usr as ostree mounts it
DefaultDependencies=no
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'mount --bind /usr /usr && mount -o remount,bind,ro /usr'
[Install]
WantedBy=sysinit.target
END
mkdir -p "$ROOT/etc/systemd/system/sysinit.target.wants"
ln -s ../lab-usr.service "$ROOT/etc/systemd/system/sysinit.target.wants/lab-usr.service"
`;

const systems = [
  {
    name: 'Debian 12',
    machine: { name: 'adapt12', ip: '10.99.0.94' },
    root: async () => (await buildLab(progress)).root,
  },
  {
    name: 'Debian 13',
    machine: { name: 'adapt13', ip: '10.99.0.95' },
    root: () => buildSuiteImage('trixie', progress),
  },
  {
    name: 'a system like ostree',
    machine: { name: 'adapt-ostree', ip: '10.99.0.96' },
    root: () => buildSuiteImage('trixie', progress),
    shape: OSTREE,
  },
] as const;

describe('the page about adapting a distribution', { skip: needs(...LAB), timeout: 40 * MINUTE }, () => {
  const shared = mkdtempSync(join(tmpdir(), 'machineadm-adapt-'));

  const fleet = Fleet.ofSuite(
    async () => {
      copyFileSync(join(ROOT, 'dist/machineadm'), join(shared, 'machineadm'));
      cpSync(join(ROOT, 'packaging'), join(shared, 'packaging'), { recursive: true });
    },
    { kind: 'host' },
  );
  after(() => rmSync(shared, { recursive: true, force: true }));

  for (const system of systems) {
    test(`works on ${system.name}`, { timeout: 15 * MINUTE }, async (context) => {
      const root = await system.root();
      const immutable = 'shape' in system;
      // The check ends with 22 where the files do not prove a MUST: a lab image has no kernel of its own.
      const check = `{ ${block(4, 'sh')} } >&2 || test $? = 22\n`;
      const steps = [block(1, 'sh'), block(2, 'sh'), ...(immutable ? [block(3, 'sh')] : []), check, block(5, 'sh')];
      // In the place of cloud-init.
      const document = `(umask 077; cat >"$ROOT/etc/machineadm/bootstrap.yaml" <<'END'\n${block(6, 'yaml')}END\n)`;
      const script = [FIRST_BOOT_IN_LAB, immutable ? system.shape : '', ...steps, document].join('\n');
      const baked: BakedLayer = bake([root], shared, script, 'outside');
      context.after(() => baked.remove());

      const node = await fleet.start({
        ...system.machine,
        root,
        lower: [baked.path],
        machineId: 'uninitialized',
        withoutAgent: true,
      });
      const shell = async (text: string): Promise<string> => (await node.machine.shell(text)).trim();
      assert.equal(
        await shell('systemctl is-enabled machineadm-provision.service lab-probe.service'),
        'enabled\nenabled',
      );
      await node.machine.shell(block(6, 'sh').replace(/^machineadm (?:conformance|doctor)$/gm, ''));
      assert.equal(await shell('cat /etc/motd; hostname'), 'adapted\nfirst');
      for (const command of ['conformance', 'doctor']) {
        assert.ok(block(6, 'sh').includes(`machineadm ${command}\n`));
        const { stdout, stderr, status } = await node.machine.exec(['machineadm', command]);
        assert.notEqual(status, 1, stdout + stderr);
        assert.doesNotMatch(stdout, /^FAIL (?:IMG|UNIT|RUN)-/m, stdout);
      }
      if (immutable) {
        assert.equal(await shell('touch /usr/x 2>/dev/null || echo read-only'), 'read-only');
        assert.equal(
          await shell('stat -c %F /opt/cni/bin /usr/libexec/kubernetes/kubelet-plugins/volume/exec'),
          'directory\ndirectory',
        );
        assert.equal(await shell('readlink -f "$(command -v machineadm)"'), '/usr/bin/machineadm');
      }
      await fleet.remove(node);
    });
  }
});
