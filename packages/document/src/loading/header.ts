import { type Finding, unknownKey } from '../diagnostics/index.ts';
import type { DocumentVersion } from '../versions/version.ts';
import { satisfies } from './requires.ts';

/** `apiVersion`, `kind` and `requires`: what is checked before the sections, for every version of the document. */

/** Objects that `convert` reads, and users pass as a document by mistake. */
const CONVERTED_KINDS =
  /^(?:KubeadmConfig|KubeadmConfigTemplate|KubeadmControlPlane|KubeadmControlPlaneTemplate|ClusterConfiguration|InitConfiguration|JoinConfiguration|Machine|Secret)$/;
/** Keys of cloud-config and of Ignition. */
const USER_DATA_KEYS = ['write_files', 'runcmd', 'bootcmd', 'ignition', 'cloud_init_modules', 'package_update'];
const CONVERT = '`machineadm convert -f FILE` makes a bootstrap document of it';

/**
 * The kind of a text that `convert` reads; undefined for anything else. It is reported as such, instead of as invalid
 * fields.
 */
export function convertible(raw: ReadonlyMap<string, unknown>): Finding | undefined {
  const kind = raw.get('kind');
  if (typeof kind === 'string' && CONVERTED_KINDS.test(kind)) {
    return {
      code: 'InvalidValue',
      path: ['kind'],
      message: `a ${kind} is not a bootstrap document, whose kind is MachineBootstrap`,
      hint: CONVERT,
    };
  }
  const [key] = raw.has('apiVersion') ? [] : USER_DATA_KEYS.filter((name) => raw.has(name));
  if (key === undefined) return undefined;
  const format = key === 'ignition' ? 'an Ignition configuration' : 'cloud-config user data';
  return { code: 'InvalidValue', path: [key], key, message: `${format} is not a bootstrap document`, hint: CONVERT };
}

export function checkHeader(raw: ReadonlyMap<string, unknown>, versions: readonly DocumentVersion[]): Finding[] {
  const findings: Finding[] = [];
  const known = versions.map((version) => version.apiVersion).join(', ');
  const apiVersion = raw.get('apiVersion');
  if (apiVersion === undefined) {
    findings.push({
      code: 'MissingField',
      path: [],
      message: '"apiVersion" is missing',
      hint: `add apiVersion: ${versions.at(-1)?.apiVersion}`,
    });
  } else if (!versions.some((version) => version.apiVersion === apiVersion)) {
    // An unknown version may be a misplaced secret.
    const isOurs = typeof apiVersion === 'string' && /^machineadm\.dev\/v\d{1,4}[a-z0-9]{0,12}$/.test(apiVersion);
    const message = `this agent does not read ${isOurs ? JSON.stringify(apiVersion) : 'this version'}`;
    findings.push({
      code: 'InvalidValue',
      path: ['apiVersion'],
      message,
      hint: `it reads ${known}; a newer machineadm may read more`,
    });
  }
  const kind = raw.get('kind');
  if (kind === undefined)
    findings.push({ code: 'MissingField', path: [], message: '"kind" is missing', hint: 'add kind: MachineBootstrap' });
  else if (kind !== 'MachineBootstrap') {
    findings.push({
      code: 'InvalidValue',
      path: ['kind'],
      message: 'not a bootstrap document',
      hint: 'kind must be MachineBootstrap',
    });
  }
  return findings;
}

export function checkRequires(
  requires: unknown,
  version: DocumentVersion,
  agentVersion: string,
): { mistakes: Finding[]; newer: Finding[] } {
  const mistakes: Finding[] = [];
  const newer: Finding[] = [];
  if (requires === undefined) return { mistakes, newer };
  if (requires === null || typeof requires !== 'object' || Array.isArray(requires)) {
    mistakes.push({ code: 'InvalidType', path: ['requires'], message: 'expected a map with agentVersion or features' });
    return { mistakes, newer };
  }
  for (const [key, value] of Object.entries(requires) as [string, unknown][]) {
    const path = ['requires', key];
    if (key === 'agentVersion') {
      const satisfied = typeof value === 'string' ? satisfies(agentVersion, value) : undefined;
      if (satisfied === undefined) {
        mistakes.push({
          code: 'InvalidValue',
          path,
          message: 'not a version condition',
          hint: 'write it such as ">=0.1.0"',
        });
      } else if (!satisfied) {
        const message = `the document requires machineadm ${String(value)}, and this is ${agentVersion}`;
        newer.push({ code: 'RequiresNewerAgent', path, message, hint: 'install a matching machineadm in the image' });
      }
    } else if (key === 'features') {
      const features: readonly unknown[] = Array.isArray(value) ? value : [];
      if (!Array.isArray(value) || features.some((feature) => typeof feature !== 'string')) {
        mistakes.push({ code: 'InvalidType', path, message: 'expected a list of feature names' });
      }
      features.forEach((feature, index) => {
        if (typeof feature === 'string' && !version.features.includes(feature)) {
          newer.push({
            code: 'RequiresNewerAgent',
            path: [...path, index],
            message: 'this agent lacks the feature',
            hint: 'install a newer machineadm in the image',
          });
        }
      });
    } else {
      mistakes.push(unknownKey(path, { known: ['agentVersion', 'features'], value }));
    }
  }
  return { mistakes, newer };
}
