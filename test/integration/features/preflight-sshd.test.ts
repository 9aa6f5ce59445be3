import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { linuxQueryHost } from '../../../src/host/machine/linux-host.ts';
import { stepsFor } from '../../../src/pipeline/pipeline.ts';
import { findRequirements } from '../../../src/pipeline/preflight.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { debianPackages } from '../../support/debian-packages.ts';
import { loaded } from '../../support/document.ts';
import { facts } from '../../support/facts.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';

/** Unpacked, not installed: the package starts a daemon. */
const found = existsSync('/usr/sbin/sshd')
  ? { root: '' }
  : debianPackages('openssh-server', ['openssh-server', 'libwrap0'], 'usr/sbin/sshd');

const file = (path: string, content: string) => `    - {path: ${path}, content: ${JSON.stringify(content)}}\n`;

if ('unavailable' in found) test('sshd -t', { skip: needs(found) }, () => {});
else
  inThrowAwayMachine(import.meta.filename, () => {
    test('sshd itself checks the configuration of the document, whole and with what it includes', async () => {
      if (found.root !== '') cpSync(join(found.root, 'usr'), '/usr', { recursive: true, verbatimSymlinks: true });
      mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
      const main = file('/etc/ssh/sshd_config', 'Include /etc/ssh/sshd_config.d/machineadm-*.conf\n');
      const preflightOf = async (option: string): Promise<readonly string[]> => {
        const { model } = await loaded(
          `host:\n  files:\n${main}${file('/etc/ssh/sshd_config.d/machineadm-t.conf', option)}`,
        );
        const asked = {
          host: linuxQueryHost(),
          model,
          facts: facts(),
          scope: 'all',
          record: () => EMPTY_RECORD,
        } as const;
        const { unmet, told } = await findRequirements(stepsFor('all', 'linux'), asked);
        assert.ok(!told.some(({ missing: { what } }) => /no sshd/.test(what)), 'it was asked');
        return unmet.map(({ missing: { reason, what } }) => `${reason}: ${what}`);
      };
      assert.deepEqual(await preflightOf('PermitRootLogin no\n'), []);
      const unmet = await preflightOf('\nPermitRoot no\n');
      assert.match(unmet.join(), /^SSHConfigurationInvalid: .*machineadm-t\.conf: line 2: Bad configuration option/);
    });
  });
