import type {
  ApiServerModel,
  Argument,
  AuditMode,
  ComponentModel,
  EncryptionProvider,
  HostPathVolume,
} from '@machineadm/document/model/index.ts';
import {
  ADMISSION_CONFIG,
  ADMISSION_DIRECTORY,
  AUDIT_POLICY,
  AUDIT_WEBHOOK,
  AUTHENTICATION_CONFIG,
  AUTHENTICATION_DIRECTORY,
  AUTHENTICATION_WEBHOOK,
  AUTHORIZATION_CONFIG,
  AUTHORIZATION_DIRECTORY,
  AUTHORIZATION_WEBHOOK,
  ENCRYPTION_CONFIG,
  ENCRYPTION_DIRECTORY,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import { goDuration } from './fields.ts';

/**
 * The API server's arguments, variables and volumes: those given directly, and those derived from its sections (audit,
 * encryption at rest, …). The document's checks exclude overlaps. Where arguments are added by others, such as a
 * hardening profile, the sections of the document take precedence.
 */
export function apiServerComponent(apiServer: ApiServerModel): ComponentModel {
  const args = [
    ...auditArguments(apiServer),
    ...encryptionArguments(apiServer),
    ...authenticationArguments(apiServer),
    ...authorizationArguments(apiServer),
    ...admissionArguments(apiServer),
  ];
  const mounts = volumes(apiServer);
  return {
    args: [...args, ...apiServer.args.filter(({ name }) => !args.some((ours) => ours.name === name))],
    env: apiServer.env,
    volumes: [
      ...mounts,
      ...apiServer.volumes.filter(
        ({ name, mountPath }) => !mounts.some((ours) => ours.name === name || ours.mountPath === mountPath),
      ),
    ],
  };
}

/** kube-apiserver's words (k/k staging/src/k8s.io/apiserver/pkg/server/options/audit.go, AllowedModes). */
const MODES: Readonly<Record<AuditMode, string>> = {
  Batch: 'batch',
  Blocking: 'blocking',
  BlockingStrict: 'blocking-strict',
};

function auditArguments({ audit }: ApiServerModel): readonly Argument[] {
  if (audit === undefined) return [];
  const { log, webhook } = audit;
  const args: Argument[] = [{ name: 'audit-policy-file', value: AUDIT_POLICY }];
  if (log !== undefined) {
    args.push(
      { name: 'audit-log-path', value: log.path },
      { name: 'audit-log-maxage', value: String(log.maxAgeDays) },
      { name: 'audit-log-maxbackup', value: String(log.maxBackups) },
      { name: 'audit-log-maxsize', value: String(log.maxSizeMi) },
    );
    if (log.mode !== undefined) args.push({ name: 'audit-log-mode', value: MODES[log.mode] });
  }
  if (webhook !== undefined) {
    args.push({ name: 'audit-webhook-config-file', value: AUDIT_WEBHOOK });
    if (webhook.mode !== undefined) args.push({ name: 'audit-webhook-mode', value: MODES[webhook.mode] });
  }
  return args;
}

function encryptionArguments({ encryptionAtRest }: ApiServerModel): readonly Argument[] {
  return encryptionAtRest === undefined ? [] : [{ name: 'encryption-provider-config', value: ENCRYPTION_CONFIG }];
}

function authenticationArguments({ authentication }: ApiServerModel): readonly Argument[] {
  const args: Argument[] = [];
  const { webhook, structured } = authentication ?? {};
  if (webhook !== undefined) {
    args.push(
      { name: 'authentication-token-webhook-config-file', value: AUTHENTICATION_WEBHOOK },
      { name: 'authentication-token-webhook-version', value: webhook.version },
    );
    if (webhook.cacheTTLMs !== undefined)
      args.push({ name: 'authentication-token-webhook-cache-ttl', value: goDuration(webhook.cacheTTLMs) });
  }
  if (structured !== undefined) args.push({ name: 'authentication-config', value: AUTHENTICATION_CONFIG });
  return args;
}

function authorizationArguments({ authorization }: ApiServerModel): readonly Argument[] {
  if (authorization === undefined) return [];
  if (authorization.kind === 'structured') return [{ name: 'authorization-config', value: AUTHORIZATION_CONFIG }];
  const { modes, webhook } = authorization;
  const ttl = (name: string, milliseconds: number | undefined): readonly Argument[] =>
    milliseconds === undefined
      ? []
      : [{ name: `authorization-webhook-cache-${name}-ttl`, value: goDuration(milliseconds) }];
  return [
    { name: 'authorization-mode', value: modes.join(',') },
    { name: 'authorization-webhook-config-file', value: AUTHORIZATION_WEBHOOK },
    { name: 'authorization-webhook-version', value: webhook.version },
    ...ttl('authorized', webhook.authorizedTTLMs),
    ...ttl('unauthorized', webhook.unauthorizedTTLMs),
  ];
}

/**
 * kubeadm's default plugins; an argument of ours replaces them (k/k cmd/kubeadm/app/phases/controlplane/manifests.go).
 */
const KUBEADM_PLUGINS = ['NodeRestriction'];

function admissionArguments({ admission }: ApiServerModel): readonly Argument[] {
  if (admission === undefined) return [];
  const { enable, disable, config } = admission;
  const kept = KUBEADM_PLUGINS.filter((name) => !enable.includes(name) && !disable.includes(name));
  const args: Argument[] = [];
  if (enable.length > 0) args.push({ name: 'enable-admission-plugins', value: [...kept, ...enable].join(',') });
  if (disable.length > 0) args.push({ name: 'disable-admission-plugins', value: disable.join(',') });
  if (config.length > 0) args.push({ name: 'admission-control-config-file', value: ADMISSION_CONFIG });
  return args;
}

function volumes(apiServer: ApiServerModel): readonly HostPathVolume[] {
  const { audit, encryptionAtRest, authentication, authorization, admission } = apiServer;
  const found: HostPathVolume[] = [];
  const add = (name: string, path: string, pathType: string, readOnly = true) =>
    found.push({ name, hostPath: path, mountPath: path, readOnly, pathType });
  if (audit !== undefined) add('audit-policy', AUDIT_POLICY, 'File');
  if (audit?.log !== undefined) add('audit-log', directoryOf(audit.log.path), 'DirectoryOrCreate', false);
  if (audit?.webhook !== undefined) add('audit-webhook', AUDIT_WEBHOOK, 'File');
  if (encryptionAtRest !== undefined) add('encryption', ENCRYPTION_DIRECTORY, 'Directory');
  socketDirectories(encryptionAtRest?.providers ?? []).forEach((directory, index) => {
    // A plugin that runs as a static pod creates its directory itself, perhaps later.
    add(`kms-${index + 1}`, directory, 'DirectoryOrCreate');
  });
  if (authentication !== undefined) add('authentication', AUTHENTICATION_DIRECTORY, 'Directory');
  if (authorization !== undefined) add('authorization', AUTHORIZATION_DIRECTORY, 'Directory');
  if ((admission?.config ?? []).length > 0) add('admission', ADMISSION_DIRECTORY, 'Directory');
  return found;
}

function socketDirectories(providers: readonly EncryptionProvider[]): readonly string[] {
  return [...new Set(kmsSockets(providers).map((socket) => directoryOf(socket)))];
}

/** The sockets of the KMS plugins that the API server connects to. */
export function kmsSockets(providers: readonly EncryptionProvider[]): readonly string[] {
  return providers.flatMap((provider) => (provider.kind === 'kms' ? [provider.socket] : []));
}

/** The directory of an absolute path, without Node's `path`: rendering also runs in the browser library. */
function directoryOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')));
}
