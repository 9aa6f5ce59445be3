import type { BootstrapToken } from '@machineadm/document/model/index.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { type Fields, goDuration, listOrNothing } from './fields.ts';
import type { Problems } from './problems.ts';

/**
 * `bootstrapTokens` of InitConfiguration. kubeadm fills in what is not given before it validates, in every version
 * (k/k cmd/kubeadm/app/apis/bootstraptoken/v1/defaults.go and validation.go; seen with 1.20.2). So its file format has two
 * things which it never takes: `expires`, because a ttl is always set beside it, and a token without the usage
 * authentication, because it always gets a group.
 */
export function bootstrapTokens(
  tokens: readonly BootstrapToken[],
  secrets: (value: SecretValue) => string,
  problems: Problems,
): readonly Fields[] {
  return tokens.map((model, index) => {
    const field = `kubernetes.cluster.bootstrapTokens[${index}]`;
    if (model.expires !== undefined) {
      problems.add({
        field: `${field}.expires`,
        problem: 'kubeadm takes only a time to live in its configuration',
        remedy: `Set ttl instead of ${field}.expires.`,
      });
    }
    if (model.usages.length > 0 && !model.usages.includes('authentication')) {
      problems.add({
        field: `${field}.usages`,
        problem: 'kubeadm gives every token a group and refuses that without the usage authentication',
        remedy: `Add authentication to ${field}.usages, or create the token after kubeadm init with kubeadm token create.`,
      });
    }
    return omitUndefined({
      token: secrets(model.token),
      description: model.description,
      ttl: model.ttlMs === undefined ? undefined : goDuration(model.ttlMs),
      usages: listOrNothing(model.usages),
      groups: listOrNothing(model.groups),
    });
  });
}
