import { is, when, without } from '../../fields/conditions.ts';
import { field, object } from '../../fields/field.ts';
import { imageRepository, imageTag } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';

export interface AddonsModel {
  readonly dns: {
    readonly enabled: boolean;
    readonly imageRepository: string | undefined;
    readonly imageTag: string | undefined;
  };
  readonly proxy: {
    readonly enabled: boolean;
    /** A KubeProxyConfiguration without apiVersion and kind. */
    readonly config: Readonly<Record<string, unknown>>;
  };
}

export const addons = object({
  dns: field(
    object({
      enabled: field(z.boolean(), 'Whether kubeadm installs the addon.', { default: true, example: false }),
      imageRepository: field(imageRepository, 'The repository of the image.', {
        absent: 'kubernetes.cluster.imageRepository',
        example: 'registry.example:5000/kubernetes',
      }),
      imageTag: field(imageTag, 'The tag of the image.', { absent: 'the default of kubeadm', example: 'v1.12.1' }),
    }),
    'The addon CoreDNS.',
    { absent: 'enabled, with the image of kubeadm', example: { imageTag: 'v1.12.1' } },
  ),
  proxy: field(
    object(
      {
        enabled: field(z.boolean(), 'Whether kubeadm installs the addon.', { default: true, example: false }),
        config: field(z.record(z.string(), z.unknown()), 'Fields of KubeProxyConfiguration v1alpha1.', {
          default: {},
          example: { mode: 'nftables' },
        }),
      },
      () => [when(is('enabled', false), without('config'))],
    ),
    'The addon kube-proxy.',
    { absent: 'enabled, with the defaults of kubeadm', example: { enabled: false } },
  ),
});

/** @param configuration what the document says of kube-proxy's configuration elsewhere */
export function toAddons(
  section: z.infer<typeof addons> | undefined,
  configuration: Readonly<Record<string, unknown>>,
): AddonsModel {
  const { dns, proxy } = section ?? {};
  return {
    dns: { enabled: dns?.enabled ?? true, imageRepository: dns?.imageRepository, imageTag: dns?.imageTag },
    proxy: { enabled: proxy?.enabled ?? true, config: { ...configuration, ...proxy?.config } },
  };
}
