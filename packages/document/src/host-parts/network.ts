import type { Finding } from '../diagnostics/index.ts';
import { any, is, must, text, VARIABLE, when } from '../fields/conditions.ts';
import { milliseconds } from '../fields/convert-values.ts';
import { choice, field, object } from '../fields/field.ts';
import { duration, hostPort } from '../fields/types.ts';
import { NETWORK_DIRECTORIES } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { member } from '../values/untyped.ts';
import { foreignYaml } from '../yaml/foreign-yaml.ts';
import { claimsOn, doubles, hostPart } from './part.ts';

export type NetworkTool = keyof typeof NETWORK_DIRECTORIES;

export interface NetworkModel {
  readonly tool: NetworkTool;
  readonly files: readonly { readonly path: string; readonly content: string }[];
  readonly keep: { readonly endpoint: string | undefined; readonly timeoutMs: number };
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** The names that each tool reads: systemd.network(5) and its siblings, netplan-generate(8), nm-settings-keyfile(5). */
const SUFFIXES: Readonly<Record<NetworkTool, { readonly pattern: RegExp; readonly text: string }>> = {
  networkd: { pattern: /\.(?:network|netdev|link)$/, text: '".network", ".netdev" or ".link"' },
  netplan: { pattern: /\.yaml$/, text: '".yaml"' },
  NetworkManager: { pattern: /\.nmconnection$/, text: '".nmconnection"' },
};
/** Without these sections the tool skips the file. */
const REQUIRED_SECTIONS: Readonly<Record<string, string>> = {
  network: 'Match',
  link: 'Match',
  netdev: 'NetDev',
  nmconnection: 'connection',
};
const EXAMPLE = '[Match]\nName=eth0\n[Network]\nDHCP=yes\n';

export const network = hostPart({
  description:
    'Configuration files of the network, in the format of the network tool. If the network is lost with the new files, machineadm restores the previous ones.',
  absent: 'the network stays as it is',
  changes: 'the configuration files of the network tool, which applies them',
  example: { tool: 'networkd', files: [{ name: '10-eth0.network', content: EXAMPLE }] },
  entryKeys: { files: ['name'] },
  linuxOnly: 'its network is configured by the image or by the cloud',
  schema: object(
    {
      tool: field(
        choice({
          networkd: 'systemd-networkd.',
          netplan: 'netplan, which hands over to networkd or NetworkManager.',
          NetworkManager: 'NetworkManager.',
        }),
        'The tool that reads the files: systemd-networkd, netplan or NetworkManager.',
        { example: 'networkd' },
      ),
      files: field(
        z.array(
          object({
            name: field(
              z
                .string()
                .max(200, 'longer than 200 characters')
                .regex(/^[A-Za-z0-9_][A-Za-z0-9_.@-]*$/, 'not a file name'),
              'The file name, with the suffix that the tool expects.',
              { example: '10-eth0.network' },
            ),
            content: field(z.string().min(1, 'an empty file'), 'The content, byte for byte.', { example: EXAMPLE }),
          }),
        ),
        'The files. A file that leaves the document is removed.',
        { default: [], example: [{ name: '10-eth0.network', content: EXAMPLE }] },
      ),
      keep: field(
        object({
          endpoint: field(hostPort, 'A host and TCP port that must accept connections.', {
            absent: 'only the default route counts',
            example: '10.0.0.10:6443',
          }),
          timeout: field(duration, 'How long to wait for the network before the previous files are restored.', {
            default: '30s',
            example: '1m',
          }),
        }),
        'Endpoints that must still be reachable after a change. A default route that existed before must always exist again.',
        { default: {}, example: { endpoint: '10.0.0.10:6443', timeout: '30s' } },
      ),
    },
    () => [
      when(is('tool', 'networkd'), must('files[].name', any(VARIABLE, text(/\.(?:network|netdev|link)$/)))),
      when(is('tool', 'netplan'), must('files[].name', any(VARIABLE, text(/\.yaml$/)))),
      when(is('tool', 'NetworkManager'), must('files[].name', any(VARIABLE, text(/\.nmconnection$/)))),
    ],
  ),
  toModel: (section): NetworkModel | undefined =>
    section && {
      tool: section.tool,
      files: (section.files ?? []).map(({ name, content }) => ({
        path: `${NETWORK_DIRECTORIES[section.tool]}/${name}`,
        content,
      })),
      keep: {
        endpoint: section.keep?.endpoint,
        timeoutMs: milliseconds(section.keep?.timeout) ?? DEFAULT_TIMEOUT_MS,
      },
    },
  claims: (network) =>
    (network?.files ?? []).flatMap(({ path }, index) => claimsOn('network', ['files', index], 'file', path)),
  async check({ tool, files = [], keep }) {
    const findings: Finding[] = doubles(files).map((finding) => ({
      ...finding,
      path: ['files', ...finding.path],
      other: ['files', ...(finding.other ?? [])],
    }));
    for (const [index, { name, content }] of files.entries()) {
      const { pattern, text } = SUFFIXES[tool];
      if (!pattern.test(name)) {
        findings.push({
          path: ['files', index, 'name'],
          message: `${tool} does not read it`,
          hint: `a name that ends in ${text}`,
        });
        continue;
      }
      const problem = tool === 'netplan' ? await problemOfYaml(content) : problemOfSections(content, name);
      if (problem === undefined) continue;
      findings.push({ path: ['files', index, 'content'], message: `not a file that ${tool} reads: ${problem}` });
    }
    if (keep?.timeout !== undefined && milliseconds(keep.timeout) === 0) {
      findings.push({ path: ['keep', 'timeout'], message: 'must be above 0s' });
    }
    return findings;
  },
});

async function problemOfYaml(content: string): Promise<string | undefined> {
  const value = await foreignYaml(content);
  if (value === undefined) return 'not YAML';
  const network = member(value, 'network');
  return typeof network === 'object' && network !== null ? undefined : 'there is no mapping "network"';
}

/**
 * The syntax of systemd.syntax(7) and of key files: networkd logs a line that it cannot read, and ignores it.
 * Lines are not quoted, as they may hold a key.
 */
function problemOfSections(content: string, name: string): string | undefined {
  const sections = new Set<string>();
  let continues = false;
  for (const [index, raw] of content.split('\n').entries()) {
    const line = raw.trim();
    const isContinued = continues;
    continues = line.endsWith('\\') && !/^[#;]/.test(line);
    if (isContinued || line === '' || /^[#;]/.test(line)) continue;
    const at = `line ${index + 1}`;
    if (line.startsWith('[')) {
      if (!line.endsWith(']')) return `${at}: a section without its "]"`;
      sections.add(line.slice(1, -1));
    } else if (line.indexOf('=') < 1) return `${at} is neither a section, a setting nor a comment`;
    else if (sections.size === 0) return `${at}: a setting before the first section`;
  }
  const required = REQUIRED_SECTIONS[name.slice(name.lastIndexOf('.') + 1)];
  return required === undefined || sections.has(required) ? undefined : `there is no section [${required}]`;
}
