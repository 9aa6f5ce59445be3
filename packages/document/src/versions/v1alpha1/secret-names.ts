import { choices, type Finding, nearestName, type PathSegment } from '../../diagnostics/index.ts';
import type { SecretsSection } from '../../sections/secrets.ts';
import { isPlainWord } from '../../text/quotable.ts';
import type { Sections } from './sections.ts';

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

/** The reference is quoted only if it is a word: it may be the secret itself, written into the wrong field. */
function unknownSecret(path: readonly PathSegment[], name: string, known: readonly string[]): Finding {
  const near = nearestName(name, known);
  const about = [['secrets', name]];
  if (near !== undefined)
    return { path, message: `no secret of the name "${name}"`, hint: `did you mean "${near}"?`, about };
  const hint = known.length > 0 ? `"secrets" has ${choices(known, name)}` : 'add it under "secrets"';
  const message = isPlainWord(name) ? `no secret of the name "${name}"` : 'no secret of this name';
  return { path, message, hint, about };
}

/** A secret is fetched with a header that is fetched with a header …: more of them than this is no plan of anybody. */
const LONGEST_CHAIN = 8;

/** A secret whose header is another, on the way down; `next` is the one of its own needs to look at. */
interface Open {
  readonly name: string;
  next: number;
  depth: number;
}

/** Secrets that are fetched with a header that needs themselves, or a long chain of others. */
function circularSecrets(secrets: SecretsSection): Finding[] {
  /** How many secrets must be fetched for one, itself among them. */
  const settled = new Map<string, number>();
  const findings: Finding[] = [];
  const refuse = (name: string, message: string): void => {
    findings.push({ path: ['secrets', name, 'http', 'headers'], message, hint: 'write one of them down' });
  };
  for (const start of Object.keys(secrets)) {
    if (settled.has(start)) continue;
    // Depth first, without the stack of the program: a chain may be as long as the document.
    const open: Open[] = [{ name: start, next: 0, depth: 1 }];
    const around = new Set([start]);
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const needed = needsOf(secrets[top.name])[top.next++];
      const depth = needed === undefined ? undefined : settled.get(needed);
      if (needed === undefined) {
        open.pop();
        around.delete(top.name);
        settled.set(top.name, top.depth);
        if (top.depth === LONGEST_CHAIN + 1) refuse(top.name, 'needs a chain of too many other secrets');
        const above = open.at(-1);
        if (above !== undefined) above.depth = Math.max(above.depth, top.depth + 1);
      } else if (depth !== undefined) top.depth = Math.max(top.depth, depth + 1);
      else if (around.has(needed)) refuse(top.name, 'needs a secret that is fetched with this one');
      else {
        open.push({ name: needed, next: 0, depth: 1 });
        around.add(needed);
      }
    }
  }
  return findings;
}

function needsOf(source: SecretsSection[string] | undefined): readonly string[] {
  if (source === undefined || !('http' in source)) return [];
  return Object.values(source.http.headers ?? {}).flatMap((field) => (typeof field === 'string' ? [] : [field.secret]));
}
