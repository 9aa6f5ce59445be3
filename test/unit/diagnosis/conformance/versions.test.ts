import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { systemdVersion } from '../../../../src/diagnosis/conformance/image.ts';
import { evaluateClauses } from '../../../../src/diagnosis/conformance/index.ts';
import { kernelVersion } from '../../../../src/diagnosis/conformance/kernels.ts';
import { parseOsRelease } from '../../../../src/host/machine/linux-facts.ts';
import { kernel, MODULES, withImage } from '../../../support/conformance/image.ts';

interface Printed<V> {
  readonly text: string;
  readonly version: V;
  readonly distribution: string;
  readonly source: string;
}

const VERSIONS: {
  readonly kernels: readonly Printed<string>[];
  readonly osRelease: readonly {
    readonly text: string;
    readonly id: string;
    readonly version: string;
    readonly source: string;
  }[];
  readonly systemd: readonly Printed<number>[];
  readonly containerd: readonly Printed<string>[];
  readonly kubernetes: readonly Printed<string>[];
  readonly crio: readonly Printed<string>[];
} = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../../fixtures/conformance/versions.json'), 'utf8'));

describe('versions as distributions print them', () => {
  for (const { text, version, distribution } of VERSIONS.kernels) {
    test(`the kernel ${text} of ${distribution} keeps IMG-01, and its modules are found`, async () => {
      assert.equal(kernelVersion(text)?.join('.'), version);
      const { major, minor } = parseVersion(text) ?? {};
      assert.equal(`${major}.${minor}`, version);
      const change = {
        [`${MODULES}/modules.dep`]: undefined,
        [`${MODULES}/modules.builtin`]: undefined,
        ...kernel(text),
      };
      const judged = await withImage('node', change, undefined, (subject) => evaluateClauses(subject));
      const found = judged.filter(({ id }) => ['IMG-01', 'KUB-09'].includes(id));
      assert.deepEqual(
        found.map(({ state }) => state),
        ['kept', 'kept'],
      );
    });
  }

  for (const { text, id, version } of VERSIONS.osRelease) {
    test(`os-release of ${id} ${version}`, () => assert.deepEqual(parseOsRelease(text), { id, version }));
  }

  for (const { text, version } of VERSIONS.systemd) {
    test(text, () => assert.equal(systemdVersion(text), version));
  }

  for (const { text, version, distribution } of [...VERSIONS.containerd, ...VERSIONS.kubernetes, ...VERSIONS.crio]) {
    test(`${text.split('\n')[0]} of ${distribution}`, () => {
      const { major, minor, patch } = parseVersion(text) ?? {};
      assert.equal(`${major}.${minor}.${patch}`, version);
    });
  }

  test('are at least 60, each with its source', () => {
    const all = Object.values(VERSIONS).flatMap((list) => (Array.isArray(list) ? list : []));
    assert.ok(all.length >= 60);
    assert.deepEqual(
      all.filter(({ source }) => !/^https:\/\//.test(source)),
      [],
    );
  });
});
