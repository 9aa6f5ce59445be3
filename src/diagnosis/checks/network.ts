import { LONGEST_NODE_NAME } from '@machineadm/document/sections/kubernetes/checks-identity.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { NODE_NAME } from '../../host/seam/node-name.ts';
import type { Finding } from './finding.ts';

/**
 * Checks that the host name can be the name of a Node and that it resolves. `willBeSet`: the document sets it, so it
 * need not resolve yet. `longest`: of a name that is not that of the Node.
 */
export async function checkHostname(
  host: QueryHost,
  name: string,
  willBeSet: boolean,
  longest = LONGEST_NODE_NAME,
): Promise<readonly Finding[]> {
  const base = { id: 'hostname', title: 'network' } as const;
  if (!NODE_NAME.test(name.toLowerCase()) || name.length > longest) {
    return [
      {
        ...base,
        severity: 'failed',
        reason: 'NodeNameInvalid',
        text: `the host name "${name}" cannot name a Node`,
        remedy: "Set host.hostname or kubernetes.node.name to lower-case letters, digits, '-' and '.'.",
      },
    ];
  }
  if (willBeSet) return [{ ...base, severity: 'passed', text: `the host name will be ${name}` }];
  const { status } = await host.query({ program: 'getent', args: ['ahosts', name], timeoutMs: 5000 });
  if (status === 0) return [{ ...base, severity: 'passed', text: `the host name ${name} resolves` }];
  return [
    {
      ...base,
      severity: 'warning',
      reason: 'HostnameUnresolvable',
      text: `the host name ${name} does not resolve`,
      remedy: 'Add it to /etc/hosts or to the name server; kubeadm only warns.',
    },
  ];
}

/**
 * A default route, from which kubeadm takes the address to advertise where the document names none
 * (k/k staging/src/k8s.io/apimachinery/pkg/util/net/interface.go).
 */
export async function checkRouting(host: QueryHost, isAddressGiven: boolean): Promise<readonly Finding[]> {
  const base = { id: 'route', title: 'network' } as const;
  // Whether the machine has it is a requirement of the document.
  if (isAddressGiven) return [];
  const routes = (await host.readText('/proc/net/route')) ?? '';
  const routes6 = (await host.readText('/proc/net/ipv6_route')) ?? '';
  const v4 = routes.split('\n').some((line) => /^\S+\t00000000\t[0-9A-F]{8}\t/.test(line));
  const v6 = routes6.split('\n').some((line) => /^0{32} 00 (?!.* lo$)/.test(line));
  if (v4 || v6) return [{ ...base, severity: 'passed', text: 'there is a default route' }];
  return [
    {
      ...base,
      severity: 'warning',
      reason: 'NoDefaultRoute',
      text: 'there is no default route',
      remedy:
        'Start after the network is up (network-online.target), or select the address with kubernetes.node.addresses.',
    },
  ];
}
