import type { Placed, Report } from '../report/report.ts';
import type { Spec } from '../spec/spec.ts';

interface ProviderFile {
  readonly named: RegExp;
  readonly differs: (kubeadmFile: string) => string;
}

const USER_DATA = 'the user data of the machine is the document of machineadm, or is not of cloud-init';

/** What the provider and cloud-init make on a machine, with what a text that reads it finds there now. */
const FILES: readonly ProviderFile[] = [
  {
    named: /\/tmp\/kubeadm(?:-[a-z-]{1,40})?\.ya?ml\b/,
    differs: (file) => `only old providers wrote it to /tmp; it is ${file}`,
  },
  {
    named: /\/etc\/kubeadm\.sh\b/,
    differs: () => 'machineadm makes no script: the commands are hooks of the document',
  },
  {
    // cloudinit/helpers.py, Paths.lookups
    named:
      /\/var\/lib\/cloud\/(?:instance|instances\/[^/\s]{1,100})\/(?:user-data|vendor-data|cloud-config|scripts|handlers)/,
    differs: () => USER_DATA,
  },
  {
    named: /\bcloud-init query(?: -[\w-]{1,20}){0,4} (?:-u|--user-data|userdata|vendordata|--vendor-data|-v)\b/,
    differs: () => USER_DATA,
  },
  {
    named:
      /\/run\/cloud-init\/(?:combined-)?(?:instance-data|cloud-config|result|status)|\/var\/lib\/cloud\/(?:instance\/(?:boot-finished|obj\.pkl|datasource)|data\/)/,
    differs: () => 'it exists only where cloud-init starts machineadm, and its user data is the document',
  },
  {
    named: /\/var\/log\/cloud-init-output\.log\b/,
    differs: () => 'the output of kubeadm and of commands is in the log of machineadm',
  },
];

/** Reports commands and files that name files or data which the provider or cloud-init makes, and machineadm does not. */
export function reportProviderFiles(spec: Spec, kubeadmFile: string, report: Report): void {
  const tell = (text: string, at: Placed): void => {
    for (const { named, differs } of FILES) {
      const found = named.exec(text)?.[0];
      if (found !== undefined) report.add('ProviderFileNamed', at, `${found}: ${differs(kubeadmFile)}`);
    }
  };
  for (const { command, at } of [...spec.bootCommands, ...spec.beforeCommands, ...spec.afterCommands])
    tell(command, at);
  for (const { content, encoding, at } of spec.files) {
    if (encoding !== undefined && encoding !== '' && encoding !== 'text/plain') continue;
    tell(content, at);
    // In commands the name of the file is corrected, or reported on its own.
    if (/\/etc\/kubeadm\.yml\b/.test(content))
      report.add('ProviderFileNamed', at, `/etc/kubeadm.yml: it is ${kubeadmFile}`);
  }
}
