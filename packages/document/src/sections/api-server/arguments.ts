import type { Finding } from '../../diagnostics/index.ts';
import type { ComponentSection } from '../component.ts';
import { API_SERVER } from './connection.ts';
import type { ApiServerFilesSection } from './files.ts';

/** Arguments that a section of the document sets, or that the API server refuses beside it. */
export const OWNERS: readonly {
  readonly field: string;
  readonly asked: (section: ApiServerFilesSection) => boolean;
  readonly argument: RegExp;
}[] = [
  {
    field: 'audit',
    asked: ({ audit }) => audit !== undefined,
    argument: /^audit-(policy-file|log-(path|maxage|maxbackup|maxsize|mode)|webhook-(config-file|mode))$/,
  },
  {
    field: 'encryptionAtRest',
    asked: ({ encryptionAtRest }) => encryptionAtRest !== undefined,
    argument: /^encryption-provider-config$/,
  },
  {
    field: 'authentication.webhook',
    asked: ({ authentication }) => authentication?.webhook !== undefined,
    argument: /^authentication-token-webhook-/,
  },
  {
    // k/k pkg/kubeapiserver/options/authentication.go: the flags oidc-* and a configuration exclude each other.
    field: 'authentication.structured',
    asked: ({ authentication }) => authentication?.structured !== undefined,
    argument: /^(authentication-config$|oidc-)/,
  },
  {
    field: 'authentication.structured.anonymous',
    asked: ({ authentication }) => authentication?.structured?.anonymous !== undefined,
    argument: /^anonymous-auth$/,
  },
  {
    // k/k pkg/kubeapiserver/options/authorization.go: the modes and a configuration exclude each other.
    field: 'authorization',
    asked: ({ authorization }) => authorization !== undefined,
    argument: /^authorization-/,
  },
  {
    field: 'admission.enable',
    asked: ({ admission }) => admission?.enable !== undefined,
    argument: /^enable-admission-plugins$/,
  },
  {
    field: 'admission.disable',
    asked: ({ admission }) => admission?.disable !== undefined,
    argument: /^disable-admission-plugins$/,
  },
  {
    field: 'admission.config',
    asked: ({ admission }) => admission?.config !== undefined,
    argument: /^admission-control-config-file$/,
  },
];

/** An argument said twice would win or lose by its place: one of them is refused. */
export function checkArguments(section: ApiServerFilesSection & ComponentSection): Finding[] {
  return (section.args ?? []).flatMap(({ name }, index): Finding[] => {
    const owner = OWNERS.find(({ asked, argument }) => argument.test(name) && asked(section));
    if (owner === undefined) return [];
    const message = `${name} and ${API_SERVER.join('.')}.${owner.field} exclude each other`;
    return [{ path: [...API_SERVER, 'args', index], message, hint: 'keep one of them' }];
  });
}

/** The names of the volumes that the sections bring (`packages/kubeadm/src/api-server-component.ts`). */
export const VOLUMES = /^(audit-(policy|webhook|log)|encryption|authentication|authorization|admission|kms-\d+)$/;

export function checkVolumes(section: ApiServerFilesSection & ComponentSection): Finding[] {
  const asks = (['audit', 'encryptionAtRest', 'authentication', 'authorization', 'admission'] as const).some(
    (name) => section[name] !== undefined,
  );
  if (!asks) return [];
  return (section.volumes ?? []).flatMap(({ name }, index): Finding[] => {
    if (!VOLUMES.test(name)) return [];
    const message = `a volume of machineadm has the name "${name}"`;
    return [{ path: [...API_SERVER, 'volumes', index, 'name'], message, hint: 'choose another' }];
  });
}
