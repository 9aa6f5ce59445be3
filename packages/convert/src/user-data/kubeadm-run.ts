import { decodeSource } from '@machineadm/document/decode.ts';
import { MachineadmError } from '@machineadm/document/errors.ts';
import { DEFAULT_SENTINEL } from '@machineadm/document/ownership/paths.ts';
import type { Dropped } from '../dropped.ts';
import { certificatesAmong } from '../kubernetes/pki.ts';
import type { Report } from '../report.ts';
import { fromBase64 } from '../secrets.ts';
import { Source } from '../source.ts';
import type { CommandSpec, FileSpec, Spec } from '../spec.ts';
import { isEmptyDocument, plain, yamlDocuments, yamlValue } from '../yaml.ts';

/** How the provider runs kubeadm in user data (cluster-api bootstrap/kubeadm/pkg/cloudinit, kubeadm_init.go and node.go). */
export interface KubeadmRun {
  readonly command: 'init' | 'join';
  /** The paths of kubeadm's configuration. */
  readonly path: string;
  readonly verbosity: number | undefined;
  /** A path of the sentinel that differs from Cluster API's contract. */
  readonly sentinel: string | undefined;
}

const RUN =
  /^\s*kubeadm (init|join) --config (\S+)\s*(?:--v[ =](\d+))?\s*(?:&&\s*(?:mkdir -p (\S+) && )?echo success > (\S+))?\s*$/;

/** The details of a command, if it runs kubeadm. */
export function kubeadmRun(command: string): KubeadmRun | undefined {
  const [, verb, path, verbosity, directory, sentinel] = RUN.exec(command) ?? [];
  if ((verb !== 'init' && verb !== 'join') || path === undefined) return undefined;
  // A directory for another purpose is a command of the user's.
  if (directory !== undefined && sentinel?.startsWith(`${directory.replace(/\/$/, '')}/`) !== true) return undefined;
  return {
    command: verb,
    path,
    verbosity: verbosity === undefined ? undefined : Number(verbosity),
    sentinel: sentinel === DEFAULT_SENTINEL ? undefined : sentinel,
  };
}

/** The commands before and after the one that runs kubeadm; undefined where none does. */
export function splitCommands(
  commands: readonly CommandSpec[],
):
  | { readonly run: KubeadmRun; readonly before: readonly CommandSpec[]; readonly after: readonly CommandSpec[] }
  | undefined {
  for (const [index, { command }] of commands.entries()) {
    const run = kubeadmRun(command);
    if (run !== undefined) return { run, before: commands.slice(0, index), after: commands.slice(index + 1) };
  }
  return undefined;
}

export type KubeadmPart = Pick<
  Spec,
  'cluster' | 'init' | 'join' | 'verbosity' | 'extraDocuments' | 'discoveryKubeconfig' | 'certificates' | 'files'
>;

/** Exists only to create its directory (cluster-api bootstrap/kubeadm/pkg/cloudinit). */
const PLACEHOLDER = '/run/cluster-api/placeholder';
const PLACEHOLDERS = /^This placeholder file is used to create the /;

const CONFIGURATIONS: Readonly<Record<string, 'cluster' | 'init' | 'join'>> = {
  ClusterConfiguration: 'cluster',
  InitConfiguration: 'init',
  JoinConfiguration: 'join',
};

/**
 * Classifies the files of user data: kubeadm's configuration, the discovery kubeconfig and the certificates are
 * extracted; the others stay files. Nothing of the configuration is lost: readers of the sources report unknown parts.
 */
export async function readKubeadmPart(
  files: readonly FileSpec[],
  run: KubeadmRun | undefined,
  object: string,
  report: Report,
): Promise<KubeadmPart> {
  const nothing = Source.of(undefined, object, report);
  const parts = { cluster: nothing, init: nothing, join: nothing };
  const extraDocuments: Source[] = [];
  const configuration = files.find(({ path }) => path === run?.path);
  if (configuration !== undefined) {
    const text = (await plainText(configuration, report)) ?? '';
    for (const document of await yamlDocuments(text, configuration.at, report)) {
      if (isEmptyDocument(document)) continue;
      const [mistake] = document.errors;
      if (mistake !== undefined) report.add('InputInvalid', configuration.at, `${configuration.path}: not YAML`);
      const value = await plain(document, configuration.at, report);
      const kind = kindOf(value);
      const part = CONFIGURATIONS[kind];
      const source = Source.of(value, `${object}: ${configuration.path} ${kind}`, report);
      if (part === undefined) extraDocuments.push(source);
      else {
        for (const header of ['apiVersion', 'kind']) source.get(header).drop('TypeMeta');
        if (parts[part] !== nothing) report.add('InputInvalid', source, 'specified twice, which kubeadm refuses');
        parts[part] = source;
      }
    }
  } else if (run !== undefined)
    report.add('InputInvalid', object, `${run.path} does not exist, and kubeadm is to read it`);
  const joins = run?.command === 'join';
  const kubeconfigPath = joins ? parts.join.get('discovery', 'file', 'kubeConfigPath').text() : undefined;
  const kubeconfig = files.find(({ path }) => path === kubeconfigPath);
  const isControlPlane = run !== undefined && (!joins || parts.join.get('controlPlane').isMap);
  const certificates = isControlPlane ? certificatesAmong(files, parts.cluster) : new Map<string, FileSpec>();
  const placeholder = files.find(({ path, content }) => path === PLACEHOLDER && PLACEHOLDERS.test(content));
  placeholder?.at.get('content').drop('Placeholder');
  const taken: readonly (readonly [Dropped, readonly (FileSpec | undefined)[]])[] = [
    ['KubeadmFile', [configuration]],
    ['DiscoveryFile', [kubeconfig]],
    ['CertificateFile', [...certificates.values()]],
    ['Placeholder', [placeholder]],
  ];
  for (const [reason, some] of taken) for (const file of some) for (const part of file?.rights ?? []) part.drop(reason);
  const lifted = new Set(taken.flatMap(([, some]) => some));
  return {
    ...parts,
    verbosity: Source.of({ verbosity: run?.verbosity }, object, report).get('verbosity'),
    extraDocuments,
    discoveryKubeconfig:
      kubeconfig === undefined
        ? undefined
        : Source.of(
            await yamlValue((await plainText(kubeconfig, report)) ?? '', kubeconfig.at, report),
            `${object}: ${kubeconfig.path}`,
            report,
          ),
    certificates,
    files: files.filter((file) => !lifted.has(file)),
  };
}

/** The text of a file, plain or from base64, compressed or not. */
async function plainText({ content, encoding, at, path }: FileSpec, report: Report): Promise<string | undefined> {
  if (encoding === undefined || encoding === '' || encoding === 'text/plain') return content;
  const bytes = fromBase64(content);
  try {
    if (bytes !== undefined) return await decodeSource(path, bytes);
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
  }
  report.add('InputInvalid', at, `${path} is not ${encoding} of a text`);
  return undefined;
}

function kindOf(value: unknown): string {
  return typeof value === 'object' && value !== null && 'kind' in value ? String(value.kind) : '';
}
