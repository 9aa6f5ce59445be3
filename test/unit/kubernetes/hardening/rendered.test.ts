import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { HardeningProfile, Role } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { joinWithToken } from '../../../support/hardened-join.ts';
import { hardenedModel } from '../../../support/hardened-machine.ts';

/**
 * What kubeadm is handed for each profile, for the releases that CIS v1.12 is about. Not run: the oldest real kubeadm at
 * hand is 1.20. `UPDATE_GOLDEN=1` writes the files anew.
 */
const DIRECTORY = join(import.meta.dirname, '../../../fixtures/hardening/rendered');

const CASES: readonly (readonly [string, readonly HardeningProfile[], Role, readonly string[]])[] = [
  ['cis-level-1.init', ['cis-level-1'], 'InitControlPlane', []],
  ['cis-level-1.worker', ['cis-level-1'], 'Worker', []],
  ['cis-level-2.init', ['cis-level-2'], 'InitControlPlane', []],
  ['stig.init', ['stig'], 'InitControlPlane', []],
  ['cis-and-stig.init', ['cis-level-2', 'stig'], 'InitControlPlane', []],
  [
    'cis-level-1.with-what-breaks.init',
    ['cis-level-1'],
    'InitControlPlane',
    ['cis-1.2.1', 'cis-1.2.3', 'cis-1.2.5', 'cis-1.2.9', 'cis-1.2.11', 'cis-4.2.9'],
  ],
];

describe('the configuration for kubeadm', () => {
  for (const [name, profiles, role, include] of CASES) {
    test(`${name}: the same for 1.32, 1.33 and 1.34, but for the version`, () => {
      const texts = [32, 33, 34].map((minor) => {
        const version = `v1.${minor}.0`;
        const kubeadm = parseVersion(version);
        const { kubernetes } = hardenedModel({ profiles, include }, role, version);
        assert.ok(kubeadm !== undefined && kubernetes !== undefined);
        const join = role === 'Worker' ? { join: joinWithToken() } : {};
        const { text, files } = renderKubeadm({
          kubernetes: { ...kubernetes, ...join },
          kubeadm,
          secrets: () => '[redacted]',
        });
        const beside = files.map(({ path, content }) => `# ${path}\n${content}`);
        return [text, ...beside].join('').replaceAll(version, 'VERSION');
      });
      const path = join(DIRECTORY, `${name}.yaml`);
      if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, texts[0] ?? '');
      for (const text of texts) assert.equal(text, readFileSync(path, 'utf8'));
    });
  }
});
