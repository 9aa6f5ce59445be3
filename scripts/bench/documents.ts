/** An amount of host work that both a document and a shell script can describe. */
export interface Work {
  readonly files: number;
  readonly sysctls: number;
}

export const LIGHT_WORK: Work = { files: 50, sysctls: 5 };

/** The files of a large document, each with its mode and owner. */
export const MANY_FILES: Work = { files: 1000, sysctls: 0 };

const SYSCTLS: readonly (readonly [string, number])[] = [
  ['net.ipv4.ip_forward', 1],
  ['net.ipv4.conf.all.rp_filter', 0],
  ['net.ipv4.conf.default.rp_filter', 0],
  ['net.ipv4.conf.all.accept_redirects', 0],
  ['net.ipv6.conf.all.forwarding', 1],
];

/** The head of a document for the host. */
export const HEADER = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata:
  name: bench
host:
  swap: Unmanaged
`;

export function hostDocument(work: Work): string {
  const sysctls = SYSCTLS.slice(0, work.sysctls).map(([key, value]) => `    ${key}: ${value}\n`);
  const section = sysctls.length === 0 ? '' : `  sysctl:\n${sysctls.join('')}`;
  return `${HEADER}${section}  files:\n${files(work.files)}`;
}

function files(count: number): string {
  return Array.from({ length: count }, (_, index) => {
    const path = `/etc/bench/${index % 5}/file-${index}`;
    return `    - path: ${path}\n      content: content of ${path}\n      mode: "0640"\n      owner: root:root\n`;
  }).join('');
}

/** The same as a careful person would write it by hand: no plan, no status, no check that it holds. */
export function hostScript(work: Work): string {
  const lines = ['set -eu'];
  for (const [key, value] of SYSCTLS.slice(0, work.sysctls)) {
    lines.push(`echo ${value} > /proc/sys/${key.replaceAll('.', '/')}`);
    lines.push(`echo '${key} = ${value}' >> /etc/sysctl.d/99-bench.conf`);
  }
  for (let index = 0; index < work.files; index++) {
    const path = `/etc/bench/${index % 5}/file-${index}`;
    lines.push(`mkdir -p /etc/bench/${index % 5}`, `printf %s 'content of ${path}' > ${path}`);
    lines.push(`chown root:root ${path}`, `chmod 0640 ${path}`);
  }
  return `${lines.join('\n')}\n`;
}

/** A valid document of about 200 lines. */
export function longDocument(): string {
  return hostDocument({ files: 46, sysctls: 5 });
}
