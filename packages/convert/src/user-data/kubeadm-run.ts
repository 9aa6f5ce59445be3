import { decodeSource } from '@machineadm/document/encodings/decode.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { DEFAULT_SENTINEL } from '@machineadm/document/ownership/paths.ts';
import { trimmedEnd } from '@machineadm/document/text/trim.ts';
import { whole } from '../host/shell-syntax.ts';
import { fromBase64 } from '../inputs/secrets.ts';
import { certificatesAmong } from '../kubernetes/pki.ts';
import type { Dropped } from '../report/dropped.ts';
import type { Report } from '../report/report.ts';
import type { CommandSpec, FileSpec, Spec } from '../spec/spec.ts';
import { isEmptyDocument, plain, yamlDocuments, yamlValue } from '../texts/yaml.ts';
import { isMap } from '../values/map.ts';
import { Source } from '../values/source.ts';
import { type KubeadmCall, kubeadmCalls, merged } from './kubeadm-call.ts';
import { guardCommands } from './kubeadm-guard.ts';
import type { KubeadmRun, SplitCommands } from './split-commands.ts';

/** Text after kubeadm that writes the sentinel of the provider. */
const SENTINEL = /^(?:mkdir -p (\S{1,300}) && )?echo success > (\S{1,300})$/;
/** What may follow `||`: a failure of kubeadm ends a run in any case. */
const ON_FAILURE = /^(?:exit(?: \d{1,3})?|true|false|:|echo [^;&|]{0,300})$/;

/** Finds the command that runs kubeadm. Where no field can say what it does, it stays a command, and is guarded. */
export async function splitCommands(
  given: readonly CommandSpec[],
  early: readonly CommandSpec[],
  files: readonly FileSpec[],
  object: string,
  report: Report,
): Promise<SplitCommands> {
  const commands = whole(given, true);
  for (const [index, { command, at }] of commands.entries()) {
    const calls = kubeadmCalls(command);
    const [call] = calls;
    const lifted = calls.length === 1 && call !== undefined ? lift(command, call) : undefined;
    if (call === undefined || typeof lifted !== 'object') continue;
    const [before, after] = lifted.around.map((text) => (text === '' ? [] : [{ command: text, at }]));
    const left = commands.slice(index + 1);
    // A second one, such as kubeadm in another role, is not the machine's.
    if (left.some((one) => kubeadmCalls(one.command).length > 0)) break;
    if (call.command.redirections.length > 0) report.add('KubeadmOutput', at, 'machineadm keeps it in its log');
    const { run } = lifted;
    return { run, before: [...commands.slice(0, index), ...(before ?? [])], after: [...(after ?? []), ...left] };
  }
  return guardCommands(commands, early, files, object, report);
}

/** A call as fields, with the texts before and after it; otherwise the obstacle. */
function lift(
  text: string,
  call: KubeadmCall,
): { readonly run: KubeadmRun; readonly around: readonly string[] } | string {
  const { command, verb, path, verbosity, configuration } = call;
  if (call.obstacle !== undefined) return call.obstacle;
  if (command.depth > 0) return 'it is part of a compound command';
  if (!['', '&&', ';', '\n'].includes(command.before)) return 'it depends on another command';
  const left = text.slice(0, command.start).trim();
  const right = text.slice(command.end + command.after.length).trim();
  if (command.after === '||' ? !ON_FAILURE.test(right) : !['', '&&', ';', '\n'].includes(command.after)) {
    return 'another command depends on it';
  }
  const before = left.endsWith('&&') ? `{ ${left.slice(0, -2).trimEnd()}\n} || exit 1` : left.replace(/;$/, '');
  const [, directory, named] = SENTINEL.exec(right) ?? [];
  // A directory for another purpose is a command of the user's.
  const isIts = directory === undefined || named?.startsWith(`${trimmedEnd(directory, '/')}/`) === true;
  const sentinel = isIts ? named : undefined;
  const run = { command: verb, path, verbosity, configuration };
  const isSet = sentinel === DEFAULT_SENTINEL ? undefined : sentinel;
  const after = sentinel !== undefined || command.after === '||' ? '' : right;
  return { run: { ...run, sentinel: isSet }, around: [before, after] };
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
  // A join without any flag is one, too.
  const implied = run?.path === undefined && run !== undefined ? { [kindOfVerb(run.command)]: {} } : {};
  const flags: Readonly<Record<string, unknown>> = { ...implied, ...run?.configuration };
  const configuration = files.find(({ path }) => run?.path !== undefined && path === run.path);
  if (configuration !== undefined) {
    const text = (await plainText(configuration, report)) ?? '';
    for (const document of await yamlDocuments(text, configuration.at, report)) {
      if (isEmptyDocument(document)) continue;
      const [mistake] = document.errors;
      if (mistake !== undefined) report.add('InputInvalid', configuration.at, `${configuration.path}: not YAML`);
      const value = await plain(document, configuration.at, report);
      const kind = kindOf(value);
      const part = CONFIGURATIONS[kind];
      const source = Source.of(withFlags(value, flags[kind]), `${object}: ${configuration.path} ${kind}`, report);
      if (part === undefined) extraDocuments.push(source);
      else {
        for (const header of ['apiVersion', 'kind']) source.get(header).drop('TypeMeta');
        if (parts[part] !== nothing) report.add('InputInvalid', source, 'specified twice, which kubeadm refuses');
        parts[part] = source;
      }
    }
  } else if (run?.path !== undefined)
    report.add('InputInvalid', object, `${run.path} does not exist, and kubeadm is to read it`);
  for (const [kind, value] of Object.entries(flags)) {
    const part = CONFIGURATIONS[kind];
    if (part === undefined || parts[part] !== nothing) continue;
    parts[part] = Source.of(value, `${object}: kubeadm ${run?.command} ${kind}`, report);
  }
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

function kindOfVerb(verb: 'init' | 'join'): string {
  return verb === 'init' ? 'InitConfiguration' : 'JoinConfiguration';
}

/** kubeadm takes some of its flags beside a configuration (app/cmd/phases/workflow, app/apis/kubeadm/validation). */
function withFlags(value: unknown, flags: unknown): unknown {
  return isMap(value) && isMap(flags) ? merged(value, flags) : value;
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
