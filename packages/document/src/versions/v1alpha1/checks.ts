import type { Finding } from '../../diagnostics.ts';
import { choices, nearestName, type PathSegment } from '../../diagnostics.ts';
import { MachineadmError } from '../../errors.ts';
import { checkHooks } from './checks-hooks.ts';
import { circularSecrets } from './circular-secrets.ts';
import { decodeContent } from './content.ts';
import type { FileSection } from './host.ts';
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

export function checkHost(sections: Sections): Finding[] {
  const { host } = sections;
  if (host === undefined) return [];
  const findings: Finding[] = checkHooks(host.hooks);
  const paths = new Map<string, number>();
  host.files?.forEach((file, index) => {
    findings.push(...checkFile(file, index));
    const first = paths.get(file.path);
    if (first === undefined) paths.set(file.path, index);
    else {
      findings.push({
        code: 'Duplicate',
        path: ['host', 'files', index, 'path'],
        message: `${file.path} is already written by`,
        other: ['host', 'files', first],
        hint: 'keep one of them',
      });
    }
  });
  return findings;
}

function checkFile(file: FileSection, index: number): Finding[] {
  const path = ['host', 'files', index];
  if (file.content !== undefined && file.contentFrom !== undefined) {
    const about = [...path, 'contentFrom'];
    return [{ path, message: 'content and contentFrom exclude each other', hint: 'keep one of them', about }];
  }
  if (file.content === undefined && file.contentFrom === undefined) {
    const about = [...path, 'content'];
    return [
      { path, message: 'neither content nor contentFrom is given', hint: 'content: "" makes an empty file', about },
    ];
  }
  if (file.encoding !== undefined && file.content === undefined) {
    return [{ path: [...path, 'encoding'], message: 'encoding describes content, which is not given' }];
  }
  // Whether it has been added already is told by the content itself, which is not known before it is downloaded.
  if (file.append === true && file.contentFrom !== undefined && 'http' in file.contentFrom) {
    const hint = 'download it to a file of its own, and append from that with contentFrom: {file: …}';
    return [{ path: [...path, 'append'], message: 'what is downloaded cannot be appended', hint }];
  }
  return [];
}

/** Encoded contents must decode; what is compressed must not be damaged or endless. */
export async function checkFileContents(sections: Sections): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [index, file] of (sections.host?.files ?? []).entries()) {
    if (file.content === undefined || file.encoding === undefined) continue;
    try {
      await decodeContent(file.content, file.encoding);
    } catch (error) {
      const path = ['host', 'files', index, 'content'];
      if (error instanceof MachineadmError) findings.push({ path, message: 'not gzip, or larger than 4 MiB unpacked' });
      else findings.push({ path, message: 'not base64, though encoding says so' });
    }
  }
  return findings;
}
