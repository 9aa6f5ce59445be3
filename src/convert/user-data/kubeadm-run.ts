import { certificatePaths } from '../kubernetes/pki.ts';
import type { Report } from '../report.ts';
import { Source } from '../source.ts';
import type { CommandSpec, FileSpec, Spec } from '../spec.ts';

import { plain, yamlDocuments, yamlValue } from '../yaml.ts';

/** How the provider runs kubeadm in user data (cluster-api bootstrap/kubeadm/pkg/cloudinit, kubeadm_init.go and node.go). */
export interface KubeadmRun {
  readonly command: 'init' | 'join';
  /** Of kubeadm's configuration. */
  readonly path: string;
  readonly verbosity: number | undefined;
}

const RUN =
  /^\s*kubeadm (init|join) --config (\S+)\s*(?:--v[ =](\d+))?\s*(?:&&\s*(?:mkdir -p \S+ && )?echo success > \S+)?\s*$/;

/** What a command says if it is the one that runs kubeadm. */
export function kubeadmRun(command: string): KubeadmRun | undefined {
  const [, verb, path, verbosity] = RUN.exec(command) ?? [];
  if ((verb !== 'init' && verb !== 'join') || path === undefined) return undefined;
  return { command: verb, path, verbosity: verbosity === undefined ? undefined : Number(verbosity) };
}

/** The commands around the run of kubeadm; undefined where none runs it. */
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

/** The kubeadm part of a specification. */
export type KubeadmPart = Pick<
  Spec,
  'cluster' | 'init' | 'join' | 'verbosity' | 'extraDocuments' | 'discoveryKubeconfig' | 'certificates' | 'files'
>;

/** Exists only to create its directory (cluster-api bootstrap/kubeadm/pkg/cloudinit). */
const PLACEHOLDER = '/run/cluster-api/placeholder';

const CONFIGURATIONS: Readonly<Record<string, 'cluster' | 'init' | 'join'>> = {
  ClusterConfiguration: 'cluster',
  InitConfiguration: 'init',
  JoinConfiguration: 'join',
};

/**
 * Sorts the files of user data: kubeadm's configuration, the discovery kubeconfig and the certificates are what they are;
 * the rest stays files. Nothing of the configuration is lost: whoever reads the sources finds what they do not know.
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
    for (const document of await yamlDocuments(configuration.content, configuration.at, report, '1.1')) {
      if (document.contents === null) continue;
      const [mistake] = document.errors;
      if (mistake !== undefined) report.add('InputInvalid', configuration.at, `${configuration.path}: not YAML`);
      const value = plain(() => document.toJS(), configuration.at, report);
      const kind = kindOf(value);
      const part = CONFIGURATIONS[kind];
      const source = Source.of(value, `${object}: ${configuration.path} ${kind}`, report);
      for (const header of ['apiVersion', 'kind']) source.get(header).text();
      if (part === undefined) extraDocuments.push(Source.of(value, `${object}: ${configuration.path} ${kind}`, report));
      else parts[part] = source;
    }
  } else if (run !== undefined)
    report.add('InputInvalid', object, `${run.path}, which kubeadm is to read, is not there`);
  const kubeconfigPath = parts.join.get('discovery', 'file', 'kubeConfigPath').text();
  const kubeconfig = files.find(({ path }) => path === kubeconfigPath);
  const ofCertificates = certificatePaths(parts.cluster);
  const isCertificate = ({ path, secret, encoding }: FileSpec): boolean =>
    run !== undefined && secret === undefined && encoding === undefined && ofCertificates.has(path);
  return {
    ...parts,
    verbosity: Source.of({ verbosity: run?.verbosity }, object, report).get('verbosity'),
    extraDocuments,
    discoveryKubeconfig:
      kubeconfig === undefined
        ? undefined
        : Source.of(
            await yamlValue(kubeconfig.content, kubeconfig.at, report),
            `${object}: ${kubeconfig.path}`,
            report,
          ),
    certificates: new Map(files.filter(isCertificate).map((file) => [file.path, file])),
    files: files.filter(
      (file) => file !== configuration && file !== kubeconfig && file.path !== PLACEHOLDER && !isCertificate(file),
    ),
  };
}

function kindOf(value: unknown): string {
  return typeof value === 'object' && value !== null && 'kind' in value ? String(value.kind) : '';
}
