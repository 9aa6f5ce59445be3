import { type Finding, nearestName, type PathSegment } from '../../diagnostics/index.ts';
import { given, when, without } from '../../fields/conditions.ts';
import { field, object } from '../../fields/field.ts';
import { admissionPlugins, NEWEST_KNOWN_PLUGINS_MINOR } from '../../kubernetes-releases/admission-plugins.ts';
import * as z from '../../schema/zod.ts';
import { API_SERVER } from './connection.ts';
import { checkPluginConfiguration, lintPodSecurity, NEEDS_CONFIGURATION } from './plugin-configuration.ts';

export interface AdmissionModel {
  /** Beside those that the API server and kubeadm switch on. */
  readonly enable: readonly string[];
  readonly disable: readonly string[];
  readonly config: readonly {
    readonly plugin: string;
    readonly configuration: Readonly<Record<string, unknown>>;
  }[];
}

/** machineadm chooses the versions of their configurations. */
const OURS: readonly string[] = ['PodSecurity', 'EventRateLimit'];

const plugin = z.string().min(1);
export const admission = object({
  enable: field(z.array(plugin), 'Plug-ins that are enabled beside the default ones and NodeRestriction.', {
    default: [],
    example: ['AlwaysPullImages'],
  }),
  disable: field(z.array(plugin), 'Plug-ins that are disabled.', { default: [], example: ['DefaultStorageClass'] }),
  config: field(
    z
      .array(
        object(
          {
            plugin: field(plugin, 'The plug-in.', { example: 'PodSecurity' }),
            configuration: field(
              z.record(z.string(), z.unknown()),
              'The configuration in the format of the plug-in. For PodSecurity and EventRateLimit omit apiVersion and kind: machineadm chooses them.',
              { example: { defaults: { enforce: 'baseline' } } },
            ),
          },
          () => [when(given('plugin', { enum: OURS }), without('configuration.apiVersion', 'configuration.kind'))],
        ),
      )
      .min(1),
    'The configuration of plug-ins.',
    {
      absent: 'the defaults of the plug-ins',
      example: [{ plugin: 'PodSecurity', configuration: { defaults: { enforce: 'baseline' } } }],
    },
  ),
});

type AdmissionSection = z.infer<typeof admission>;

export function checkAdmission({ enable = [], disable = [], config = [] }: AdmissionSection, minor: number): Finding[] {
  const known = admissionPlugins(minor);
  const path = [...API_SERVER, 'admission'];
  const findings: Finding[] = [];
  const judge = (name: string, at: readonly PathSegment[]) => {
    if (known.includes(name) || minor > NEWEST_KNOWN_PLUGINS_MINOR) return;
    const near = nearestName(name, known);
    const hint = near === undefined ? `known: ${known.join(', ')}` : `did you mean "${near}"?`;
    findings.push({ path: at, message: `no admission plugin of Kubernetes 1.${minor} is called "${name}"`, hint });
  };
  enable.forEach((name, index) => {
    judge(name, [...path, 'enable', index]);
    if (NEEDS_CONFIGURATION.includes(name) && !config.some(({ plugin }) => plugin === name)) {
      const message = `the API server does not start with ${name} without its configuration`;
      findings.push({ path: [...path, 'enable', index], message, hint: `add one for ${name} to config` });
    }
    if (disable.includes(name)) {
      findings.push({
        path: [...path, 'enable', index],
        message: `${name} is disabled, too`,
        hint: 'keep one of them',
      });
    }
  });
  disable.forEach((name, index) => {
    judge(name, [...path, 'disable', index]);
  });
  const seen = new Set<string>();
  config.forEach(({ plugin, configuration }, index) => {
    const at = [...path, 'config', index];
    judge(plugin, [...at, 'plugin']);
    if (seen.has(plugin))
      findings.push({ code: 'Duplicate', path: [...at, 'plugin'], message: `a second configuration of ${plugin}` });
    seen.add(plugin);
    const ours = OURS.includes(plugin);
    findings.push(...checkPluginConfiguration(plugin, configuration, [...at, 'configuration']));
    if (ours && ('apiVersion' in configuration || 'kind' in configuration)) {
      const message = 'apiVersion and kind are chosen by the Kubernetes version';
      findings.push({ path: [...at, 'configuration'], message, hint: 'remove them' });
    }
  });
  return findings;
}

/** What plug-ins would do that nobody wants. */
export function lintAdmission({ disable = [], config = [] }: AdmissionSection): Finding[] {
  return config.flatMap(({ plugin, configuration }, index) =>
    plugin === 'PodSecurity' && !disable.includes(plugin)
      ? lintPodSecurity(configuration, [...API_SERVER, 'admission', 'config', index, 'configuration'])
      : [],
  );
}

export function toAdmission({ enable = [], disable = [], config = [] }: AdmissionSection): AdmissionModel {
  return { enable, disable, config };
}
