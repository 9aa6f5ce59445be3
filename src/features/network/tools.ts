import { basename } from 'node:path/posix';
import type { NetworkTool } from '@machineadm/document/model/index.ts';
import { type Evidence, evidenceFrom } from '@machineadm/document/outcomes/errors.ts';
import { NETWORK_DIRECTORIES } from '@machineadm/document/ownership/paths.ts';
import type { Command, CommandResult, Host, QueryHost } from '../../host/seam/host.ts';
import { PRIVATE_FILES } from '../../host/seam/queries.ts';
import { notChecked, type UnmetRequirement } from '../../step/index.ts';

const COMMAND_TIMEOUT_MS = 60_000;
const LOG_LINES = 500;

export interface NetworkFile {
  readonly path: string;
  readonly content: string;
}

/** What a tool says against files; empty where it takes them. */
export type Complaints = readonly Evidence[];

interface Tool {
  readonly title: string;
  readonly program: string;
  /** The service that must run for a change to have an effect. */
  readonly service?: string;
  /** What is known against the files without writing any. */
  preflight?(host: QueryHost, files: readonly NetworkFile[]): Promise<readonly UnmetRequirement[]>;
  /** Has the tool read its files again. `changed` are those that were written just now. */
  apply(host: Host, changed: readonly NetworkFile[], signal?: AbortSignal): Promise<Complaints>;
}

export const TOOLS: Readonly<Record<NetworkTool, Tool>> = {
  networkd: {
    title: 'systemd-networkd',
    program: 'networkctl',
    service: 'systemd-networkd',
    /** networkd has no program that checks a file: it logs each line that it ignores, with its path and number. */
    async apply(host, changed, signal) {
      const before = new Set(await host.services.logs('systemd-networkd', LOG_LINES));
      const failures = await runAll(host, [['networkctl', 'reload']], signal);
      if (failures.length > 0) return failures;
      const lines = (await host.services.logs('systemd-networkd', LOG_LINES)).filter((line) => !before.has(line));
      const ignored = lines.filter(
        (line) => /\bignoring\b/i.test(line) && changed.some(({ path }) => line.includes(`${path}:`)),
      );
      return evidenceFrom('systemd-networkd', ignored);
    },
  },
  netplan: {
    title: 'netplan',
    program: 'netplan',
    /** Beside the files that are there. A mistake of another file is not the document's. */
    async preflight(host, files) {
      const texts: Record<string, string> = {};
      const directory = NETWORK_DIRECTORIES.netplan;
      for (const name of (await host.list(directory)) ?? []) {
        const path = `${directory}/${name}`;
        if (name.endsWith('.yaml')) texts[path] = (await host.readText(path)) ?? '';
      }
      for (const { path, content } of files) texts[path] = content;
      const args = ['generate', '--root-dir', PRIVATE_FILES];
      const { status, stderr } = await host.query({ program: 'netplan', args, files: texts });
      if (status === 0) return [];
      const evidence = complaintsOf('netplan', stderr);
      const found = files.flatMap(({ path }, index) => {
        const own = evidence.filter(({ text }) => text.includes(`${path}:`));
        return own.length === 0 ? [] : [refused('netplan', path, index, 'netplan(5)', own)];
      });
      const why = evidence[0]?.text ?? `netplan generate ended with status ${status}`;
      return found.length > 0 ? found : [notChecked('the files of netplan', why, { field: 'host.network.files' })];
    },
    apply: async (host, _changed, signal) => await runAll(host, [['netplan', 'apply']], signal),
  },
  NetworkManager: {
    title: 'NetworkManager',
    program: 'nmcli',
    service: 'NetworkManager',
    async preflight(host, files) {
      const found: UnmetRequirement[] = [];
      for (const [index, { path, content }] of files.entries()) {
        const field = `host.network.files[${index}].content`;
        const args = ['--offline', 'connection', 'modify', 'connection.autoconnect', 'yes'];
        const { status, stderr } = await host.query({ program: 'nmcli', args, input: content });
        if (status === 0) continue;
        if (stderr.includes("'--offline'")) {
          found.push(notChecked(path, 'this nmcli has no --offline (1.38)', { field }));
          continue;
        }
        found.push(refused('NetworkManager', path, index, 'nm-settings-keyfile(5)', complaintsOf('nmcli', stderr)));
      }
      return found;
    },
    async apply(host, changed, signal) {
      const ids = changed.filter(({ content }) => !/^autoconnect=(?:false|no|0)\s*$/m.test(content)).map(idOf);
      const up = ids.map((id) => ['nmcli', '--wait', '30', 'connection', 'up', 'id', id] as const);
      return await runAll(host, [['nmcli', 'connection', 'reload'], ...up], signal);
    },
  },
};

function refused(title: string, path: string, index: number, manual: string, evidence: Complaints): UnmetRequirement {
  return {
    reason: 'NetworkInvalid',
    what: `${title} refuses ${basename(path)}`,
    remedy: `Correct the file; ${manual} has its format.`,
    field: `host.network.files[${index}].content`,
    scope: 'node',
    certain: true,
    evidence,
  };
}

/** The name of a profile; without one NetworkManager takes that of the file. */
function idOf({ path, content }: NetworkFile): string {
  return /^id=(.*)$/m.exec(content)?.[1]?.trim() ?? basename(path, '.nmconnection');
}

type CommandLine = readonly [program: string, ...args: readonly string[]];

/** Runs commands up to the first that fails, and returns what that said. */
async function runAll(host: Host, commands: readonly CommandLine[], signal?: AbortSignal): Promise<Complaints> {
  for (const [program, ...args] of commands) {
    const command: Command = { program, args, timeoutMs: COMMAND_TIMEOUT_MS };
    const result: CommandResult = await host.run(signal === undefined ? command : { ...command, signal });
    if (result.status === 0) continue;
    const said = complaintsOf(program, result.stderr);
    const how = result.timedOut
      ? `did not end within ${COMMAND_TIMEOUT_MS / 1000} s`
      : `ended with status ${result.status}`;
    return [...said, { source: program, text: `${[program, ...args].join(' ')} ${how}` }];
  }
  return [];
}

/** The lines that name an error. The lines of a file that netplan quotes below may hold a password. */
function complaintsOf(source: string, stderr: string): Complaints {
  const lines = stderr.split('\n').filter((line) => /error|fail|invalid|unknown|not /i.test(line) && !/^\s/.test(line));
  return evidenceFrom(source, lines.slice(-5));
}
