import type { Finding } from '../../diagnostics.ts';
import { choices, nearestName, type PathSegment } from '../../diagnostics.ts';
import { circularSecrets } from './circular-secrets.ts';
import type { Sections } from './sections.ts';

/** Mistakes across fields, section by section. A section that has mistakes of its own is absent and not judged. */

/** Every reference by name must exist under `secrets`, and none may need itself. */
export function checkSecretNames(sections: Sections): Finding[] {
  const secrets = sections.secrets ?? {};
  const known = Object.keys(secrets);
  const findings: Finding[] = [];
  const visit = (value: unknown, path: readonly PathSegment[]) => {
    if (Array.isArray(value)) {
      value.forEach((item, index) => {
        visit(item, [...path, index]);
      });
    } else if (value !== null && typeof value === 'object') {
      for (const [key, item] of Object.entries(value)) {
        // What a plugin of the API server is configured with is free-form, too.
        if (key === 'configuration') continue;
        if (key === 'secret' && typeof item === 'string' && Object.keys(value).length === 1) {
          if (!Object.hasOwn(secrets, item)) findings.push(unknownSecret([...path, key], item, known));
        } else visit(item, [...path, key]);
      }
    }
  };
  visit(sections.host, ['host']);
  visit(sections.reporting, ['reporting']);
  visit(sections.images, ['images']);
  for (const [name, source] of Object.entries(secrets)) {
    if ('http' in source) visit(source.http.headers, ['secrets', name, 'http', 'headers']);
  }
  // What a runtime's options and settings hold is containerd's: a key called `secret` there is not ours.
  visit(sections.containerRuntime?.containerd?.registries, ['containerRuntime', 'containerd', 'registries']);
  // Configuration of the kubelet and of kube-proxy is free-form: a key called `secret` there is not ours.
  const { node: _node, addons: _addons, bootstrapper: _bootstrapper, ...rest } = sections.kubernetes ?? {};
  visit(rest, ['kubernetes']);
  return [...findings, ...circularSecrets(secrets)];
}

/** A reference is told only where it is nearly a known name: somebody may have written the secret itself there. */
function unknownSecret(path: readonly PathSegment[], name: string, known: readonly string[]): Finding {
  const near = nearestName(name, known);
  const about = ['secrets', name];
  if (near !== undefined)
    return { path, message: `no secret of the name "${name}"`, hint: `did you mean "${near}"?`, about };
  const hint = known.length > 0 ? `"secrets" has ${choices(known, name)}` : 'add it under "secrets"';
  return { path, message: 'no secret of this name', hint, about };
}
