import { hostname } from 'node:os';
import type { VariableResolver } from '@machineadm/document/trees/variables.ts';
import { hostNameAsInstanceData, INSTANCE_DATA_PATHS, lookUpInstanceData } from '../cloud/instance-data.ts';
import { MetadataService } from '../cloud/metadata-service.ts';
import { readText } from '../linux/read.ts';
import { localPath } from '../local-files/local-path.ts';

/** Where variables are looked up; the defaults are this machine's. */
export interface VariablePlaces {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly instanceData?: readonly string[];
  /** Of a Windows machine; undefined = not Windows. */
  readonly windowsHostName?: string | undefined;
  readonly metadata?: MetadataService;
}

/**
 * Resolves variables on this machine and at its cloud's metadata service. Read-only: `plan` uses it, too. A missing
 * variable has no value, and `known` lists the existing ones. Throws `MetadataUnavailable`, and `FileError` for a file
 * that exists and cannot be read.
 */
export function variableResolver(places: VariablePlaces = {}): VariableResolver {
  const env = places.env ?? process.env;
  const { windowsHostName = process.platform === 'win32' ? hostname() : undefined } = places;
  let metadata = places.metadata;
  return async (_name, source) => {
    switch (source.kind) {
      case 'value':
        return { value: source.value };
      case 'env':
        return { value: env[source.variable], known: Object.keys(env).sort() };
      case 'envFile': {
        const text = await readText(localPath(source.path));
        const entries = environmentFile(text ?? '');
        return { value: entries.get(source.key), known: [...entries.keys()] };
      }
      case 'file':
        return { value: (await readText(localPath(source.path)))?.replace(/\r?\n$/, '') };
      case 'instanceData':
        if (windowsHostName !== undefined) return hostNameAsInstanceData(windowsHostName, source.path);
        return await lookUpInstanceData(source.path, places.instanceData ?? INSTANCE_DATA_PATHS);
      case 'metadata':
        metadata ??= new MetadataService();
        return await metadata.lookUp(source.provider, source.path);
    }
  };
}

/**
 * The entries of a file of KEY=value lines with the syntax of systemd.exec(5), EnvironmentFile=: empty lines and those
 * that begin with "#" or ";" are comments, quotes around a value are removed, and "\" escapes the next character. The
 * last line of a key wins.
 */
export function environmentFile(text: string): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  for (const line of text.replace(/\\\r?\n/g, '').split(/\r?\n/)) {
    const match = /^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    if (match !== null) entries.set(match[1] ?? '', unquoted((match[2] ?? '').trim()));
  }
  return entries;
}

function unquoted(value: string): string {
  const single = /^'(.*)'$/.exec(value);
  if (single !== null) return single[1] ?? '';
  const double = /^"(.*)"$/.exec(value);
  return (double?.[1] ?? value).replace(/\\(.)/g, '$1');
}
