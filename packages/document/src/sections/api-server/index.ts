import type { Finding } from '../../diagnostics/index.ts';
import { atLeastOne, given, must, textWithout, when } from '../../fields/conditions.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { field, object } from '../../fields/field.ts';
import { minorOf } from '../../kubernetes-releases/minor.ts';
import * as z from '../../schema/zod.ts';
import { type ComponentModel, type ComponentSection, componentFields, toComponent } from '../component.ts';
import type { SecretsSection } from '../secrets.ts';
import { checkAdmission } from './admission.ts';
import { checkAudit } from './audit.ts';
import { checkAuthentication } from './authentication.ts';
import { checkAuthorization } from './authorization.ts';
import { API_SERVER } from './connection.ts';
import { checkEncryption } from './encryption.ts';
import { type ApiServerFilesModel, type ApiServerFilesSection, apiServerFiles, toApiServerFiles } from './files.ts';

/** `kubernetes.controlPlane.apiServer`. */
export const apiServer = object(
  {
    ...componentFields,
    certSANs: field(
      z.array(z.string().min(1)),
      'Further host names and IP addresses that the certificate of the API server is valid for.',
      { default: [], example: ['api.prod-a.example', '10.0.0.10'] },
    ),
    ...apiServerFiles,
  },
  () => [
    ...OWNERS.map(({ field, argument }) => when(given(field), must('args[].name', textWithout(argument)))),
    when(atLeastOne(...Object.keys(apiServerFiles)), must('volumes[].name', textWithout(VOLUMES))),
  ],
);

type ApiServerSection = z.infer<typeof apiServer>;

export interface ApiServerModel extends ComponentModel, ApiServerFilesModel {
  readonly certSANs: readonly string[];
}

export function toApiServer(section: ApiServerSection, resolve: ResolveSecret): ApiServerModel {
  return { ...toComponent(section), certSANs: section.certSANs ?? [], ...toApiServerFiles(section, resolve) };
}

/** Mistakes of the API server's files: what the API server itself would refuse, by ending again and again. */
export function checkApiServer(section: ApiServerSection, version: string, secrets: SecretsSection): Finding[] {
  const { audit, encryptionAtRest, authentication, authorization, admission, args = [] } = section;
  const minor = minorOf(version);
  return [
    ...(audit === undefined ? [] : checkAudit(audit, minor)),
    ...(encryptionAtRest === undefined ? [] : checkEncryption(encryptionAtRest, minor, secrets)),
    ...(authentication === undefined ? [] : checkAuthentication(authentication, minor, args)),
    ...(authorization === undefined ? [] : checkAuthorization(authorization, minor)),
    ...(admission === undefined ? [] : checkAdmission(admission, minor)),
    ...checkArguments(section),
    ...checkVolumes(section),
  ];
}

/** Bootstrappers other than kubeadm have their own configuration of the API server. */
export function checkApiServerOfExec(section: ApiServerSection): Finding[] {
  return filesOf(section).map((name) => ({
    path: [...API_SERVER, name],
    message: 'has no effect: bootstrapper.exec configures its own API server',
    hint: 'remove it',
  }));
}

function filesOf(section: ApiServerSection): readonly string[] {
  return Object.keys(apiServerFiles).filter((name) => section[name as keyof ApiServerSection] !== undefined);
}

/** Arguments that a section of the document sets, or that the API server refuses beside it. */
const OWNERS: readonly {
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
function checkArguments(section: ApiServerFilesSection & ComponentSection): Finding[] {
  return (section.args ?? []).flatMap(({ name }, index): Finding[] => {
    const owner = OWNERS.find(({ asked, argument }) => argument.test(name) && asked(section));
    if (owner === undefined) return [];
    const message = `${name} and ${API_SERVER.join('.')}.${owner.field} exclude each other`;
    return [{ path: [...API_SERVER, 'args', index], message, hint: 'keep one of them' }];
  });
}

/** The names of the volumes that the sections bring (`packages/kubeadm/src/api-server-component.ts`). */
const VOLUMES = /^(audit-(policy|webhook|log)|encryption|authentication|authorization|admission|kms-\d+)$/;

function checkVolumes(section: ApiServerFilesSection & ComponentSection): Finding[] {
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
