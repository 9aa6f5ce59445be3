import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { componentGates, componentGatesOf } from '@machineadm/document/kubernetes-releases/component-gates.ts';
import { KUBEADM_GATES } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { includes } from '@machineadm/document/kubernetes-releases/minor.ts';
import { parseVersion } from '@machineadm/document/program-version.ts';
import { companionTags } from '@machineadm/kubeadm/images/releases.ts';
import { differences } from '../../../scripts/kubernetes-releases.ts';

const CONSTANTS = 'cmd/kubeadm/app/constants/constants.go';
const KUBEADM_FEATURES = 'cmd/kubeadm/app/features/features.go';
const COMPONENT_FEATURES = 'test/compatibility_lifecycle/reference/feature_list.md';

describe('the tables of releases against a source of Kubernetes', () => {
  let source: string;
  const files: Record<string, string> = {};

  const version = (text: string) => {
    const parsed = parseVersion(text);
    assert.ok(parsed);
    return parsed;
  };
  const compared = (text = 'v1.35.0'): string[] => {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(source, path)), { recursive: true });
      writeFileSync(join(source, path), content);
    }
    return differences(source, version(text));
  };
  const edit = (path: string, from: string | RegExp, to: string): void => {
    const before = files[path] ?? '';
    files[path] = before.replace(from, to);
    assert.notEqual(files[path], before);
  };

  // A source in the form of the real one (k/k at 1.36), which says what the tables say of 1.35.
  beforeEach(() => {
    source = mkdtempSync(join(tmpdir(), 'machineadm-kk-'));
    const tags = companionTags(version('v1.35.0'))?.tags;
    files[CONSTANTS] = `const (
\t// DefaultEtcdVersion indicates the default etcd version that kubeadm uses
\tDefaultEtcdVersion = "3.0.0-0"
\tCoreDNSVersion = "${tags?.coredns}"
\tPauseVersion = "${tags?.pause}"
)
var (
\tMinimumKubeletVersion = getSkewedKubernetesVersion(-3)
\tSupportedEtcdVersion = map[uint8]string{
\t\t34: "3.6.5-0",
\t\t35: "${tags?.etcd}",
\t}
)
`;
    const gates = Object.entries(KUBEADM_GATES).filter(([, gate]) => includes(gate, 35));
    const specs = gates.map(([name]) => `\t${name}: {FeatureSpec: featuregate.FeatureSpec{Default: true}},\n`);
    files[KUBEADM_FEATURES] = `var InitFeatureGates = FeatureList{\n${specs.join('')}}\n`;
    const rows = componentGatesOf(35).map((name) => {
      const locked = componentGates().get(name)?.lockedSince;
      const lock = locked === undefined ? '' : `:closed_lock_with_key:&nbsp;1.${locked}+`;
      return `| ${name} | :ballot_box_with_check:&nbsp;1.16+ | ${lock} | 1.8–1.15 | 1.16– |  |  |  | [code](https://x) |`;
    });
    const head =
      '| Feature | Enabled | Locked | Alpha | Beta | GA | Deprecated | Dependencies | Links |\n|---|---|---|---|\n';
    files[COMPONENT_FEATURES] = `${head}${rows.filter((row) => !/\| All(Alpha|Beta) /.test(row)).join('\n')}\n`;
  });
  afterEach(() => rmSync(source, { recursive: true }));

  test('agree with a source that says the same', () => {
    assert.deepEqual(compared(), []);
  });

  test('a patch release with another image, and one that nobody has looked at yet', () => {
    edit(CONSTANTS, /35: "[^"]+"/, '35: "3.6.99-0"');
    assert.deepEqual(compared(), ["images: the tags differ; add row('35.0', '3.6.99-0', 'v1.13.1', '3.10.1'),"]);
    edit(CONSTANTS, '3.6.99-0', '3.6.6-0');
    assert.deepEqual(compared('v1.35.99'), ['images: the tags are right; set KNOWN_TO of 35 to 99']);
  });

  test('a minor that is in no table gets its row; etcd is the default where no minor is named', () => {
    assert.ok(
      compared('v1.99.0').includes("images: 1.99 is in no table; add row('99.0', '3.0.0-0', 'v1.13.1', '3.10.1'),"),
    );
  });

  test('gates that are new, gone, or locked', () => {
    edit(KUBEADM_FEATURES, 'FeatureList{\n', 'FeatureList{\n\tBrandNew: {FeatureSpec: x},\n');
    edit(KUBEADM_FEATURES, /\tPublicKeysECDSA: .*\n/, '');
    edit(COMPONENT_FEATURES, '| AllowDNSOnlyNodeCSR |', '| AllowEverything |');
    edit(COMPONENT_FEATURES, /(\| CBORServingAndStorage \| [^|]* \|) {2}\|/, '$1 :closed_lock_with_key:&nbsp;1.34+ |');
    assert.deepEqual(compared(), [
      'kubeadm gate BrandNew: 1.35 has it, the table does not',
      'kubeadm gate PublicKeysECDSA: the table has it, 1.35 does not',
      'component gate AllowEverything: 1.35 has it, the table does not',
      'component gate AllowDNSOnlyNodeCSR: the table has it, 1.35 does not',
      'component gate CBORServingAndStorage: locked since 1.34, the table says never',
    ]);
  });

  test('another skew of the kubelet', () => {
    edit(CONSTANTS, '(-3)', '(-4)');
    assert.deepEqual(compared(), ['kubelet: 1.31 is the oldest that kubeadm takes, the table says 1.32']);
  });

  test('a source whose form has changed is an error, not an agreement', () => {
    edit(CONSTANTS, 'CoreDNSVersion', 'CoreDNSTag');
    assert.throws(() => compared(), /constants\.go does not say CoreDNSVersion: its form has changed/);
    edit(CONSTANTS, 'CoreDNSTag', 'CoreDNSVersion');
    files[COMPONENT_FEATURES] = '';
    assert.throws(() => compared(), /has no table of features/);
  });
});
