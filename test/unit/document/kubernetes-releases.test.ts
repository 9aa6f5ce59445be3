import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import {
  CONFIGURATIONS,
  type Configuration,
  typeMeta,
} from '@machineadm/document/kubernetes-releases/configurations.ts';
import {
  containerdRefusal,
  newerContainerd,
  RECOMMENDED_CONTAINERD,
} from '@machineadm/document/kubernetes-releases/containerd.ts';
import { FEATURES } from '@machineadm/document/kubernetes-releases/features.ts';
import { PROXY_MODES, REMOVED_FLAGS } from '@machineadm/document/kubernetes-releases/flags.ts';
import { NEWEST_KNOWN_MINOR, OLDEST_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import { sourceURL, TABLE_SOURCES } from '@machineadm/document/kubernetes-releases/sources.ts';
import { parseVersion, type Version } from '@machineadm/document/text/program-version.ts';

const root = resolve(import.meta.dirname, '../../..');
const TABLES = 'packages/document/src/kubernetes-releases';

const version = (text: string): Version => {
  const parsed = parseVersion(text);
  assert.ok(parsed, text);
  return parsed;
};

/** What a fact of a minor looks like where it does not belong: a comparison with it, or an API version that depends on it. */
const FACTS = [
  /\b\w*minor(Of\([^()]*\))?\s*(>=|<=|<|>|===|!==)\s*[0-9]{2}/i,
  /\b(needsKubeadm|onlySince)\([0-9]{2}/,
  /^\s*apiVersion: ['"`](apiserver\.config|pod-security\.admission\.config|kubelet\.config|kubeproxy\.config|audit)\.k8s\.io/,
];

describe('facts that depend on the minor of Kubernetes', () => {
  test('are in the tables alone', () => {
    const files = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts', 'scripts/{lab,quickstart}/**/*.ts'], {
      cwd: root,
    });
    assert.ok(files.length > 500, 'the sources are found');
    const found = files
      .filter((file) => !file.startsWith(TABLES))
      .flatMap((file) => {
        const lines = readFileSync(join(root, file), 'utf8').split('\n');
        return lines.flatMap((line, index) =>
          FACTS.some((fact) => fact.test(line)) ? [`${file}:${index + 1} ${line.trim()}`] : [],
        );
      });
    assert.deepEqual(found, []);
  });

  test('each have a source with an address, and each table the day on which it was read', () => {
    const files = readdirSync(join(root, TABLES)).filter((file) => !['minor.ts', 'sources.ts'].includes(file));
    assert.deepEqual(
      TABLE_SOURCES.map(({ file }) => file),
      files.sort(),
    );
    for (const { read, from } of TABLE_SOURCES) {
      assert.equal(new Date(read).toISOString().slice(0, 10), read);
      assert.ok(from.every((url) => new URL(url).protocol === 'https:'));
    }
    const versions = Object.values<Configuration>(CONFIGURATIONS).flatMap((configuration) => configuration.versions);
    const facts = [...Object.values(FEATURES), ...Object.values(PROXY_MODES), ...REMOVED_FLAGS, ...versions];
    for (const source of facts.flatMap((fact) => fact.source.split(', '))) {
      assert.equal(new URL(sourceURL(source)).protocol, 'https:', source);
    }
    assert.throws(() => sourceURL('somebody said so'), /no known kind of source/);
  });

  test('configuration files get the version of their minor', () => {
    const versions = (kind: Parameters<typeof typeMeta>[0], minors: readonly number[]): string[] =>
      minors.map((minor) => typeMeta(kind, minor).apiVersion.split('/')[1] ?? '');
    assert.deepEqual(versions('AuthenticationConfiguration', [29, 30, 33, 34, Number.POSITIVE_INFINITY]), [
      'v1alpha1',
      'v1beta1',
      'v1beta1',
      'v1',
      'v1',
    ]);
    assert.deepEqual(versions('AuthorizationConfiguration', [30, 31, 32]), ['v1beta1', 'v1beta1', 'v1']);
    assert.deepEqual(versions('PodSecurityConfiguration', [22, 23, 24, 25]), ['v1alpha1', 'v1beta1', 'v1beta1', 'v1']);
    assert.deepEqual(versions('EncryptionConfiguration', [OLDEST_MINOR, NEWEST_KNOWN_MINOR]), ['v1', 'v1']);
  });

  test('a kubelet speaks with the containerd that has its CRI', () => {
    assert.match(containerdRefusal(version('v2.0.0'), version('v1.22.17')) ?? '', /CRI v1alpha2/);
    assert.equal(containerdRefusal(version('1.7.24'), version('v1.20.2')), undefined);
    assert.equal(containerdRefusal(version('2.3.4'), version('v1.23.0')), undefined);
  });

  test('a recommended containerd is none that is older than what is recommended', () => {
    for (const [minor, recommended] of Object.entries(RECOMMENDED_CONTAINERD)) {
      const kubelet = version(`v1.${minor}.0`);
      for (const containerd of recommended) assert.equal(newerContainerd(version(containerd), kubelet), undefined);
    }
    assert.equal(newerContainerd(version('1.7.27'), version('v1.34.0')), '1.7.28');
    assert.equal(newerContainerd(version('2.0.9'), version('v1.35.0')), '2.1.5');
    assert.equal(
      newerContainerd(version('1.6.0'), version(`v1.${NEWEST_KNOWN_MINOR}.0`)),
      undefined,
      'nothing is said',
    );
  });
});
