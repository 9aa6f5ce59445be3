import type { Finding } from '../../diagnostics.ts';
import type { SecretsSection } from './secrets.ts';

/** A secret is fetched with a header that is fetched with a header …: more of them than this is no plan of anybody. */
const LONGEST_CHAIN = 8;

/** A secret whose header is another, on the way down; `next` is the one of its own needs to look at. */
interface Open {
  readonly name: string;
  next: number;
  depth: number;
}

/** Secrets that are fetched with a header that needs themselves, or a long chain of others. */
export function circularSecrets(secrets: SecretsSection): Finding[] {
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
