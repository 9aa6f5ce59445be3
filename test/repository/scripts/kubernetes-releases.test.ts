import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  componentGates,
  componentGatesOf,
  NEWEST_COMPONENT_GATES_MINOR,
} from '@machineadm/document/kubernetes-releases/component-gates.ts';
import { companionTags } from '@machineadm/document/kubernetes-releases/images.ts';
import { kubeadmGates } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { differences, gateLines, refreshed } from '../../../scripts/kubernetes-releases.ts';

const CONSTANTS = 'cmd/kubeadm/app/constants/constants.go';
const KUBEADM_FEATURES = 'cmd/kubeadm/app/features/features.go';
const COMPONENT_FEATURES = 'test/compatibility_lifecycle/reference/feature_list.md';
const LOCKED_VALUES = 'test/compatibility_lifecycle/reference/versioned_feature_list.yaml';
const TABLES = resolve(import.meta.dirname, '../../../packages/document/src/kubernetes-releases');
const table = (file: string): string => readFileSync(join(TABLES, file), 'utf8');

describe('the tables of releases against a source of Kubernetes', () => {
  let source: string;
  const files: Record<string, string> = {};

  const version = (text: string) => {
    const parsed = parseVersion(text);
    assert.ok(parsed);
    return parsed;
  };
  const compared = (text = 'v1.35.0'): string[] => {
    write();
    return differences(source, version(text));
  };
  const write = (): void => {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(source, path)), { recursive: true });
      writeFileSync(join(source, path), content);
    }
  };
  const rewritten = (text: string): ReadonlyMap<string, string> => {
    write();
    return refreshed(source, version(text), table);
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
    for (const minor of [35, 99]) files[`CHANGELOG/CHANGELOG-1.${minor}.md`] = '';
    const specs = kubeadmGates(35).map((name) => `\t${name}: {FeatureSpec: featuregate.FeatureSpec{Default: true}},\n`);
    files[KUBEADM_FEATURES] = `var InitFeatureGates = FeatureList{\n${specs.join('')}}\n`;
    const rows = componentGatesOf(35).map((name) => {
      const locked = componentGates().get(name)?.lockedSince;
      const lock = locked === undefined ? '' : `:closed_lock_with_key:&nbsp;1.${locked}+`;
      return `| ${name} | :ballot_box_with_check:&nbsp;1.16+ | ${lock} | 1.8–1.15 | 1.16– |  |  |  | [code](https://x) |`;
    });
    files[LOCKED_VALUES] = [...componentGates()]
      .map(([name, { lockedTo = true }]) => `- name: ${name}\n  - default: ${lockedTo}\n    lockToDefault: true\n`)
      .join('');
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
    assert.deepEqual(compared(), ['images: the tags differ; add 35.0-0 3.6.99-0 v1.13.1 3.10.1']);
    edit(CONSTANTS, '3.6.99-0', '3.6.6-0');
    assert.deepEqual(compared('v1.35.99'), ['images: the tags are right up to 35.99']);
  });

  test('a minor that is in no table gets its row; etcd is the default where no minor is named', () => {
    assert.ok(compared('v1.99.0').includes('images: 1.99 is in no table; add 99.0-0 3.0.0-0 v1.13.1 3.10.1'));
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

  test('release notes: removals that the tables do not know, each once and with its pull request', () => {
    files['CHANGELOG/CHANGELOG-1.35.md'] = `## Changes by Kind

- kubelet: the flag \`--pod-infra-container-image\` is removed. ([#133779](https://github.com/kubernetes/kubernetes/pull/133779))
- Removed the flag \`--brand-new-flag\` of the
  kubelet. ([#1](https://github.com/kubernetes/kubernetes/pull/1), [@somebody](https://github.com/somebody))
- The kubelet no more reads kubelet.config.k8s.io/v1beta1, which was removed. ([#2](https://github.com/kubernetes/kubernetes/pull/2))
- Dropped \`--old\` from \`kubectl run\`. ([#3](https://github.com/kubernetes/kubernetes/pull/3))
- kube-apiserver: added \`--brand-new\`. ([#4](https://github.com/kubernetes/kubernetes/pull/4))
`;
    assert.deepEqual(compared(), [
      'release notes: the flag --brand-new-flag is named with a removal (k/k#1)',
      'release notes: kubelet.config.k8s.io/v1beta1 is named with a removal (k/k#2)',
    ]);
    delete files['CHANGELOG/CHANGELOG-1.35.md'];
    rmSync(join(source, 'CHANGELOG/CHANGELOG-1.35.md'));
    assert.deepEqual(compared(), ['CHANGELOG/CHANGELOG-1.35.md is missing']);
  });

  test('what agrees is written as it stands', () => {
    for (const [file, text] of rewritten('v1.35.0')) assert.equal(text, table(file), file);
    assert.ok(table('component-gates.ts').includes(`\n${gateLines(componentGates()).join('\n')}\n`));
  });

  test('a later patch release prolongs its line; other tags are a line of their own', () => {
    const same = rewritten('v1.35.99').get('images.ts') ?? '';
    assert.match(same, /^35\.0-99 3\.6\.6-0 v1\.13\.1 3\.10\.1$/m);
    edit(CONSTANTS, /35: "[^"]+"/, '35: "3.6.99-0"');
    const other = rewritten('v1.35.99').get('images.ts') ?? '';
    assert.match(other, /^35\.0-\d+ 3\.6\.6-0 v1\.13\.1 3\.10\.1\n35\.99-99 3\.6\.99-0 v1\.13\.1 3\.10\.1\n36\.0-/m);
    assert.match(rewritten('v1.36.99').get('images.ts') ?? '', /^36\.99-99 3\.0\.0-0 v1\.13\.1 3\.10\.1\n37\.0-/m);
  });

  test('the gates of the next minor: new, gone, locked; the table is complete for it then', () => {
    const next = NEWEST_COMPONENT_GATES_MINOR + 1;
    edit(COMPONENT_FEATURES, '| AllowDNSOnlyNodeCSR |', '| AllowEverything |');
    edit(
      COMPONENT_FEATURES,
      /(\| CBORServingAndStorage \| [^|]* \|) {2}\|/,
      `$1 :closed_lock_with_key:&nbsp;1.${next}+ |`,
    );
    const written = rewritten(`v1.${next}.0`).get('component-gates.ts') ?? '';
    assert.match(written, new RegExp(`^${next}- (\\w+ )*AllowEverything\\b`, 'm'));
    assert.match(written, new RegExp(`^31-${next - 1} (\\w+ )*AllowDNSOnlyNodeCSR\\b`, 'm'));
    assert.match(written, new RegExp(`^32- (\\w+ )*CBORServingAndStorage!${next}\\b`, 'm'));
    assert.match(written, new RegExp(`NEWEST_COMPONENT_GATES_MINOR = ${next};`));
    assert.throws(() => rewritten(`v1.${next + 1}.0`), /are not complete: run it for v1\.\d+\.0 first/);
  });
});
