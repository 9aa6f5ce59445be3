import type { Finding } from '../../diagnostics/index.ts';
import { atLeastOne, given, must, textWithout, when } from '../../fields/conditions.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { field, object } from '../../fields/field.ts';
import { minorOf } from '../../kubernetes-releases/minor.ts';
import * as z from '../../schema/zod.ts';
import { type ComponentModel, componentFields, toComponent } from '../component.ts';
import type { SecretsSection } from '../secrets.ts';
import { checkAdmission } from './admission.ts';
import { checkArguments, checkVolumes, OWNERS, VOLUMES } from './arguments.ts';
import { checkAudit } from './audit.ts';
import { checkAuthentication } from './authentication.ts';
import { checkAuthorization } from './authorization.ts';
import { API_SERVER } from './connection.ts';
import { checkEncryption } from './encryption.ts';
import { type ApiServerFilesModel, apiServerFiles, toApiServerFiles } from './files.ts';

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
