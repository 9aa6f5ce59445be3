import type { ServicesSection } from '@machineadm/document/host-parts/services.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { Role } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { type HostSection, host } from '@machineadm/document/versions/v1alpha1/host.ts';
import { convertGroups, convertUsers } from '../host/accounts.ts';
import { convertFiles } from '../host/files.ts';
import { convertHooks, reportHooks } from '../host/hooks.ts';
import { convertStorage } from '../host/storage.ts';
import { convertTime } from '../host/time.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { Inputs } from '../inputs/input.ts';
import { SecretBook } from '../inputs/secrets.ts';
import { convertKubernetes } from '../kubernetes/index.ts';
import { withOwnCertificates } from '../kubernetes/pki.ts';
import { joining, ownSections, type ProviderSections } from '../kubernetes/provider-object.ts';
import type { Report } from '../report/report.ts';
import type { Spec } from '../spec/spec.ts';
import { platformOf, withoutLinuxOnly } from '../spec/windows.ts';
import { structured } from '../structure/index.ts';
import { emitDocument, omitUndefinedDeep } from '../texts/emit.ts';
import { Variables } from './variables.ts';

/** A converted document, as text. */
export interface ConvertedDocument {
  /** undefined for one that only prepares a host. */
  readonly role: Role | undefined;
  /** Of the machine, or of the object that creates machines. */
  readonly name: string;
  readonly namespace: string | undefined;
  /** The name for its file: that of the machine, or of the file with its user data. */
  readonly stem: string;
  readonly yaml: string;
  /** True: it contains values of secrets. */
  readonly holdsSecrets: boolean;
}

type Context = Omit<Conversion, 'secrets' | 'resolved' | 'platform'> & {
  readonly stem?: string | undefined;
  /** The object of machineadm's bootstrap provider, instead of the document. */
  readonly emit?: ((sections: ProviderSections, spec: Spec, secrets: SecretBook) => Promise<string>) | undefined;
};

/** One document of one specification; none where its version is unknown, which is reported. */
export async function convertSpec(
  given: Spec,
  role: Role | undefined,
  objects: Inputs['secrets'],
  context: Context,
): Promise<readonly ConvertedDocument[]> {
  const { options, report, related, expressions, object } = context;
  const secrets = new SecretBook(objects, options, report);
  const platform = platformOf(given);
  const conversion: Conversion = { ...context, secrets, resolved: given.resolved, platform };
  const variables = new Variables(expressions);
  const missing = (name: string, what: string): string => {
    const path = secrets.path(name);
    report.add('ControllerValueMissing', object, `${what} is read from ${path}`);
    return variables.define(name.replace(/[^A-Za-z0-9_]+/g, '_'), { file: path });
  };
  const own =
    role === undefined || role === 'Worker'
      ? given
      : withOwnCertificates(given, role === 'JoinControlPlane', conversion);
  const spec = platform === 'Windows' ? withoutLinuxOnly(own, report) : own;
  const kubernetes = role === undefined ? undefined : await convertKubernetes(spec, role, conversion, missing);
  if (role !== undefined && kubernetes === undefined) return [];
  const plain = { host: convertHost(spec, role, conversion), kubernetes };
  for (const { command } of [...spec.bootCommands, ...spec.beforeCommands, ...spec.afterCommands]) {
    secrets.keepPrivateInCommand(command);
  }
  for (const { content, encoding } of plain.host.files ?? []) {
    if (content !== undefined && encoding === undefined) secrets.keepPrivateInFile(content);
  }
  const {
    host: prepared,
    containerRuntime,
    kubernetes: node,
  } = options.structure === true && platform === 'Linux'
    ? await structured(plain, conversion)
    : { ...plain, containerRuntime: undefined };
  reportHooks(prepared.hooks, spec, conversion);
  const { machine, clusterName } = related;
  if (!machine.isMachine && context.emit === undefined)
    report.add('MachineNameUnknown', object, 'write the name of the Machine into its document');
  const sections = {
    metadata: { name: machine.name, namespace: machine.namespace, uid: machine.uid, cluster: clusterName },
    host: prepared,
    containerRuntime,
    kubernetes: node,
    reporting: spec.sentinel === undefined ? undefined : { sentinel: { path: spec.sentinel } },
  };
  const placed = variables.place(omitUndefinedDeep(sections), report, object) as typeof sections;
  const document = omitUndefinedDeep({
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: placed.metadata,
    variables: variables.section,
    secrets: variables.place(secrets.section, report, object),
    host: ordered(placed.host),
    containerRuntime: placed.containerRuntime,
    kubernetes: placed.kubernetes,
    reporting: placed.reporting,
  });
  if (context.emit === undefined) {
    if (secrets.holdsValues) report.add('SecretInDocument', object, 'write it 0600, and no copy of it anywhere');
  } else if (secrets.isPrivate) {
    report.add('SecretInDocument', object, 'everyone who may read the object sees them, as today');
  }
  const whole = await emitDocument(
    context.emit === undefined ? (document as object) : joining(document as object),
    `Converted from ${object}.`,
  );
  await reportProblems(whole, conversion);
  const yaml = context.emit === undefined ? whole : await context.emit(ownSections(document as object), spec, secrets);
  return [
    {
      role,
      name: machine.name,
      namespace: machine.namespace,
      stem: context.stem ?? machine.name,
      yaml,
      holdsSecrets: secrets.holdsValues,
    },
  ];
}

/**
 * kubeadm reads its configurations by role: those that it does not read for this role are left out, and reported as a
 * whole.
 */
export function dropOtherRoles(
  { cluster, init, join, extraDocuments }: Spec,
  roles: readonly Role[],
  report: Report,
): void {
  const starts = roles.includes('InitControlPlane');
  const joins = roles.some((role) => role !== 'InitControlPlane');
  for (const part of [...(starts ? [] : [cluster, init, ...extraDocuments]), ...(joins ? [] : [join])]) {
    if (part.unread().length === 0) continue;
    report.add('NotForThisRole', part, `kubeadm ${starts ? 'init' : 'join'} does not read it`);
    part.drop('OtherRole');
  }
}

function convertHost(spec: Spec, role: Role | undefined, conversion: Conversion): HostSection {
  const files = convertFiles(spec, conversion);
  return {
    platform: conversion.platform === 'Windows' ? 'Windows' : undefined,
    hostname: spec.hostname,
    storage: convertStorage(spec, conversion),
    groups: convertGroups(spec),
    users: convertUsers(spec, conversion),
    directories: some(spec.direct?.directories),
    files: files.length === 0 ? undefined : files,
    links: some(spec.direct?.links),
    time: convertTime(spec, conversion),
    services: convertServices(spec, role !== undefined, conversion),
    hooks: convertHooks(spec, role === 'InitControlPlane', conversion),
  };
}

function some<T>(list: readonly T[] | undefined): T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : [...list];
}

function convertServices({ services }: Spec, isNode: boolean, { report }: Conversion): ServicesSection | undefined {
  const given = services.flatMap((service): Spec['services'] => {
    if (!isNode || service.name !== 'kubelet.service' || service.enabled !== false || service.masked === true) {
      return [service];
    }
    report.add('ServiceEnabled', service.at, service.name);
    return service.dropIns.length === 0 ? [] : [{ ...service, enabled: undefined }];
  });
  if (given.length === 0) return undefined;
  return given.map(({ name, enabled, masked, dropIns }) => ({
    name,
    enabled,
    masked,
    // systemd starts units that are enabled at the first boot, which is the only one with Ignition.
    state: enabled === true ? 'Started' : undefined,
    dropIns: dropIns.length === 0 ? undefined : [...dropIns],
  }));
}

/**
 * The fields of the section in the order of the reference, whatever order they were added in; empty sections are left
 * out.
 */
function ordered(section: HostSection): HostSection | undefined {
  const names = Object.keys(host.shape).filter((name) => name in section);
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, Reflect.get(section, name)]));
}

/**
 * The result is validated like every document; a refused value was wrong in the input, too, or the document is
 * stricter.
 */
async function reportProblems(yaml: string, { report, object }: Conversion): Promise<void> {
  const bytes = new TextEncoder().encode(yaml);
  const result = await loaded(bytes);
  if (result instanceof MachineadmError) report.add('DocumentRefused', object, result.message);
  if (result instanceof MachineadmError || result.ok) return;
  for (const { path, message, hint } of result.problems) {
    const place = path === '' ? 'the document' : path;
    report.add('DocumentRefused', object, `${place}: ${message}${hint === undefined ? '' : ` (${hint})`}`);
  }
}

/** The document, or why it is none at all: it is too large. */
async function loaded(bytes: Uint8Array) {
  try {
    return await loadDocument([{ name: 'document', bytes }], { agentVersion: '0.0.0' });
  } catch (error) {
    if (error instanceof MachineadmError) return error;
    throw error;
  }
}
