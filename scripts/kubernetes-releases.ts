/**
 * Compares what is known of a release of Kubernetes with its source: `node scripts/kubernetes-releases.ts DIRECTORY v1.38.0`,
 * where DIRECTORY is a checkout or an unpacked archive of github.com/kubernetes/kubernetes at that tag. Offline. Prints each
 * difference, and rows for the tables; the exit code is 1 where there is any (docs/kubernetes-releases.md).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage } from '@machineadm/document/errors.ts';
import { componentGates, componentGatesOf } from '@machineadm/document/kubernetes-releases/component-gates.ts';
import { KUBEADM_GATES } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { includes } from '@machineadm/document/kubernetes-releases/minor.ts';
import { oldestKubelet } from '@machineadm/document/kubernetes-releases/version-skew.ts';
import { parseVersion, type Version } from '@machineadm/document/program-version.ts';
import { companionTags } from '@machineadm/kubeadm/images/releases.ts';

const CONSTANTS = 'cmd/kubeadm/app/constants/constants.go';
const KUBEADM_FEATURES = 'cmd/kubeadm/app/features/features.go';
const COMPONENT_FEATURES = 'test/compatibility_lifecycle/reference/feature_list.md';

/** What the tables say otherwise than the source of a release; empty where they agree. */
export function differences(source: string, release: Version): string[] {
  const text = (path: string): string => readFileSync(join(source, path), 'utf8');
  return [
    ...ofImages(text(CONSTANTS), release),
    ...ofKubeletSkew(text(CONSTANTS), release),
    ...ofKubeadmGates(text(KUBEADM_FEATURES), release),
    ...ofComponentGates(text(COMPONENT_FEATURES), release),
  ];
}

function ofImages(constants: string, release: Version): string[] {
  const { minor, patch } = release;
  const constant = (name: string): string =>
    found(new RegExp(`\\b${name} *(?:string *)?= *"([^"]+)"`).exec(constants), name, CONSTANTS);
  const supported = /SupportedEtcdVersion = map\[uint8\]string\{([^}]*)\}/.exec(constants)?.[1] ?? '';
  const ofMinor = new RegExp(`\\b${minor}: *"([^"]+)"`).exec(supported)?.[1];
  const theirs = {
    etcd: ofMinor ?? constant('DefaultEtcdVersion'),
    coredns: constant('CoreDNSVersion'),
    pause: constant('PauseVersion'),
  };
  const ours = companionTags(release);
  const row = `row('${minor}.${patch}', '${theirs.etcd}', '${theirs.coredns}', '${theirs.pause}'),`;
  if (ours === undefined) return [`images: 1.${minor} is in no table; add ${row}`];
  const same =
    ours.tags.etcd === theirs.etcd && ours.tags.coredns === theirs.coredns && ours.tags.pause === theirs.pause;
  if (!same) return [`images: the tags differ; add ${row}`];
  return ours.known ? [] : [`images: the tags are right; set KNOWN_TO of ${minor} to ${patch}`];
}

function ofKubeletSkew(constants: string, release: Version): string[] {
  const skew = /MinimumKubeletVersion = getSkewedKubernetesVersion\(-(\d+)\)/.exec(constants);
  const theirs = release.minor - Number(found(skew, 'MinimumKubeletVersion', CONSTANTS));
  const ours = oldestKubelet(release);
  return ours === theirs ? [] : [`kubelet: 1.${theirs} is the oldest that kubeadm takes, the table says 1.${ours}`];
}

function ofKubeadmGates(features: string, { minor }: Version): string[] {
  const list = found(
    /InitFeatureGates = FeatureList\{([\s\S]*?)\n\}/.exec(features),
    'InitFeatureGates',
    KUBEADM_FEATURES,
  );
  const theirs = new Set([...list.matchAll(/^\t(\w+): /gm)].map(([, name = '']) => name));
  const ours = Object.entries(KUBEADM_GATES).flatMap(([name, gate]) => (includes(gate, minor) ? [name] : []));
  return compareNames('kubeadm gate', ours, theirs, minor);
}

function ofComponentGates(features: string, { minor }: Version): string[] {
  const rows = [...features.matchAll(/^\| (\w+) \| [^|]* \| ([^|]*) \|/gm)].filter(([, name]) => name !== 'Feature');
  if (rows.length === 0) throw new Error(`${COMPONENT_FEATURES} has no table of features`);
  const locked = new Map(rows.map(([, name = '', lock = '']) => [name, /1\.(\d+)\+/.exec(lock)?.[1]]));
  const known = componentGates();
  const locks = [...locked].flatMap(([name, since]) => {
    const ours = known.get(name)?.lockedSince;
    const isSame = !known.has(name) || since === undefined || Number(since) > minor || ours === Number(since);
    return isSame ? [] : [`component gate ${name}: locked since 1.${since}, the table says ${ours ?? 'never'}`];
  });
  // AllAlpha and AllBeta are in no list: they are switches over the others.
  const ours = componentGatesOf(minor).filter((name) => !/^All(Alpha|Beta)$/.test(name));
  return [...compareNames('component gate', ours, new Set(locked.keys()), minor), ...locks];
}

function compareNames(kind: string, ours: readonly string[], theirs: ReadonlySet<string>, minor: number): string[] {
  const fresh = [...theirs].filter((name) => !ours.includes(name)).sort();
  const gone = ours.filter((name) => !theirs.has(name)).sort();
  return [
    ...fresh.map((name) => `${kind} ${name}: 1.${minor} has it, the table does not`),
    ...gone.map((name) => `${kind} ${name}: the table has it, 1.${minor} does not`),
  ];
}

function found(match: RegExpExecArray | null, what: string, path: string): string {
  if (match?.[1] === undefined) throw new Error(`${path} does not say ${what}: its form has changed`);
  return match[1];
}

function main(): number {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [source, version = ''] = positionals;
  const release = parseVersion(version);
  if (source === undefined || release === undefined) {
    process.stderr.write('usage: node scripts/kubernetes-releases.ts DIRECTORY v1.MINOR.PATCH\n');
    return 2;
  }
  const lines = differences(source, release);
  process.stdout.write(lines.length === 0 ? 'the tables agree with the source\n' : `${lines.join('\n')}\n`);
  return lines.length === 0 ? 0 : 1;
}

if (import.meta.main) {
  try {
    process.exitCode = main();
  } catch (error) {
    process.stderr.write(`kubernetes-releases: ${errorMessage(error)}\n`);
    process.exitCode = 2;
  }
}
