import type { ComponentSection } from '@machineadm/document/sections/component.ts';
import type { KubernetesSection } from '@machineadm/document/sections/kubernetes/index.ts';
import { omitEmpty } from '@machineadm/document/values/defined.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { Source } from '../values/source.ts';
import { onlySince, type Target, V1BETA4_MINOR } from './target.ts';

type ControlPlane = NonNullable<KubernetesSection['controlPlane']>;
type Etcd = NonNullable<ControlPlane['etcd']>;
type Arguments = NonNullable<ComponentSection['args']>;
type Environment = NonNullable<ComponentSection['env']>;

/** The components of ClusterConfiguration; only the machine that starts the cluster uses them. */
export function convertComponents(cluster: Source, target: Target, conversion: Conversion): Partial<ControlPlane> {
  const apiServer = cluster.get('apiServer');
  const certSANs = someTexts(apiServer.get('certSANs'));
  return {
    apiServer: omitEmpty({ ...component(apiServer, target, conversion), certSANs }),
    controllerManager: omitEmpty(component(cluster.get('controllerManager'), target, conversion)),
    scheduler: omitEmpty(component(cluster.get('scheduler'), target, conversion)),
    etcd: convertEtcd(cluster.get('etcd'), target, conversion),
  };
}

function component(source: Source, target: Target, conversion: Conversion): ComponentSection {
  const volumes = source
    .get('extraVolumes')
    .items()
    .map((volume) => ({
      name: volume.get('name').text() ?? '',
      hostPath: volume.get('hostPath').text() ?? '',
      mountPath: volume.get('mountPath').text() ?? '',
      readOnly: volume.get('readOnly').flag(),
      pathType: pathType(volume.get('pathType'), conversion),
    }));
  return {
    args: convertArguments(source.get('extraArgs'), target, conversion),
    env: convertEnvironment(source.get('extraEnvs'), target, conversion),
    volumes: volumes.length === 0 ? undefined : volumes,
  };
}

type PathType = NonNullable<NonNullable<ComponentSection['volumes']>[number]['pathType']>;

const PATH_TYPES: readonly PathType[] = [
  'DirectoryOrCreate',
  'Directory',
  'FileOrCreate',
  'File',
  'Socket',
  'CharDevice',
  'BlockDevice',
];

function pathType(source: Source, { report }: Conversion): PathType | undefined {
  const text = source.text();
  if (text === undefined || text === '') return undefined;
  const known = PATH_TYPES.find((type) => type === text);
  if (known === undefined) report.add('InputInvalid', source, `expected one of ${PATH_TYPES.join(', ')}`);
  return known;
}

/**
 * A list of {name, value}, or the map of v1beta1, which the conversion webhook sorts by name
 * (cluster-api api/bootstrap/kubeadm/v1beta2/conversion.go, ConvertToArgs).
 */
export function convertArguments(source: Source, target: Target, { report }: Conversion): Arguments | undefined {
  const args = source.isMap
    ? source
        .members()
        .map(([name, value]) => ({ name, value: value.text() ?? '' }))
        .sort((a, b) => (a.name < b.name ? -1 : 1))
    : source.items().map((item) => ({ name: item.get('name').text() ?? '', value: item.get('value').text() ?? '' }));
  if (args.length === 0) return undefined;
  if (target.minor >= V1BETA4_MINOR) return args;
  // A map has each name once; the provider keeps the last (ConvertFromArgs).
  const last = new Map(args.map(({ name, value }) => [name, value]));
  if (last.size < args.length) {
    report.add('NotInThisKubeadm', source, `repeated arguments: kubeadm before 1.${V1BETA4_MINOR} keeps the last`);
  }
  return [...last].map(([name, value]) => ({ name, value }));
}

/** A static pod cannot refer to objects of the API (k/k pkg/kubelet: mirror pods; docs of static pods). */
function convertEnvironment(source: Source, target: Target, conversion: Conversion): Environment | undefined {
  const { report } = conversion;
  const env = source.items().flatMap((item): Environment => {
    const name = item.get('name').text() ?? '';
    const from = item.get('valueFrom');
    if (!from.exists) return [{ name, value: item.get('value').text() ?? '' }];
    for (const kind of ['configMapKeyRef', 'secretKeyRef', 'fileKeyRef']) {
      const reference = from.get(kind);
      if (reference.whole() === undefined) continue;
      report.add('ValueFromUnusable', reference, 'write the value itself');
      return [];
    }
    const field = from.get('fieldRef');
    if (field.exists) {
      const fieldPath = field.get('fieldPath').text() ?? '';
      return [{ name, valueFrom: { fieldRef: { fieldPath, apiVersion: field.get('apiVersion').text() } } }];
    }
    const resource = from.get('resourceFieldRef');
    const divisor = resource.get('divisor');
    return [
      {
        name,
        valueFrom: {
          resourceFieldRef: {
            resource: resource.get('resource').text() ?? '',
            containerName: resource.get('containerName').text(),
            // A quantity: a number or a string.
            divisor: divisor.exists ? String(divisor.whole()) : undefined,
          },
        },
      },
    ];
  });
  return onlySince(V1BETA4_MINOR, env.length === 0 ? undefined : env, source, target, conversion);
}

/** `controlPlane.etcd`; a joining machine needs only the paths of an external one. */
function convertEtcd(etcd: Source, target: Target, conversion: Conversion): Etcd | undefined {
  const external = convertExternalEtcd(etcd);
  if (external !== undefined) return external;
  const source = etcd.get('local');
  const local = omitEmpty({
    dataDirectory: nonEmpty(source.get('dataDir')),
    imageRepository: nonEmpty(source.get('imageRepository')),
    imageTag: nonEmpty(source.get('imageTag')),
    args: convertArguments(source.get('extraArgs'), target, conversion),
    env: convertEnvironment(source.get('extraEnvs'), target, conversion),
    serverCertSANs: someTexts(source.get('serverCertSANs')),
    peerCertSANs: someTexts(source.get('peerCertSANs')),
  });
  return local === undefined ? undefined : { local };
}

export function convertExternalEtcd(etcd: Source): Etcd | undefined {
  const external = etcd.get('external');
  if (!external.exists) return undefined;
  const file = (name: string): string => external.get(name).text() ?? '';
  const endpoints = [...external.get('endpoints').texts()];
  const files = { caFile: file('caFile'), certFile: file('certFile'), keyFile: file('keyFile') };
  return { external: { endpoints, httpEndpoints: someTexts(external.get('httpEndpoints')), ...files } };
}

/** "" counts as unset: Go writes fields without omitempty so. */
export function nonEmpty(source: Source): string | undefined {
  const text = source.text();
  return text === '' ? undefined : text;
}

export function someTexts(source: Source): string[] | undefined {
  const texts = [...source.texts()];
  return texts.length === 0 ? undefined : texts;
}
