import { KUBELET_KERNEL_SETTINGS, moduleDenied, os, sysctl, unimplementable } from './build.ts';
import type { Control } from './control.ts';

/**
 * The network, kernel and module controls of the CIS benchmarks for operating systems, with the numbers of CIS Ubuntu 24.04
 * (ComplianceAsCode controls/cis_ubuntu2404.yml), and what Kubernetes itself needs of the kernel.
 */
export const OPERATING_SYSTEM: readonly Control[] = [
  os(
    'cis-os-3.3.1',
    1,
    unimplementable(
      'IP forwarding off',
      'Pods on a node are reached by forwarding; kubeadm refuses to run without it.',
    ),
  ),
  os(
    'cis-os-3.3.2',
    1,
    sysctl({ 'net/ipv4/conf/all/send_redirects': '0', 'net/ipv4/conf/default/send_redirects': '0' }),
  ),
  os('cis-os-3.3.3', 1, sysctl({ 'net/ipv4/icmp_ignore_bogus_error_responses': '1' })),
  os('cis-os-3.3.4', 1, sysctl({ 'net/ipv4/icmp_echo_ignore_broadcasts': '1' })),
  os(
    'cis-os-3.3.5',
    1,
    sysctl(
      {
        'net/ipv4/conf/all/accept_redirects': '0',
        'net/ipv4/conf/default/accept_redirects': '0',
        'net/ipv6/conf/all/accept_redirects': '0',
        'net/ipv6/conf/default/accept_redirects': '0',
      },
      ['net/ipv6/conf/all/accept_redirects', 'net/ipv6/conf/default/accept_redirects'],
    ),
  ),
  os(
    'cis-os-3.3.6',
    1,
    sysctl({ 'net/ipv4/conf/all/secure_redirects': '0', 'net/ipv4/conf/default/secure_redirects': '0' }),
  ),
  os('cis-os-3.3.7', 1, sysctl({ 'net/ipv4/conf/all/rp_filter': '1', 'net/ipv4/conf/default/rp_filter': '1' }), {
    off: 'What is right depends on the pod network: strict breaks Cilium, loose breaks Calico.',
  }),
  os(
    'cis-os-3.3.8',
    1,
    sysctl(
      {
        'net/ipv4/conf/all/accept_source_route': '0',
        'net/ipv4/conf/default/accept_source_route': '0',
        'net/ipv6/conf/all/accept_source_route': '0',
        'net/ipv6/conf/default/accept_source_route': '0',
      },
      ['net/ipv6/conf/all/accept_source_route', 'net/ipv6/conf/default/accept_source_route'],
    ),
  ),
  os('cis-os-3.3.9', 1, sysctl({ 'net/ipv4/conf/all/log_martians': '1', 'net/ipv4/conf/default/log_martians': '1' })),
  os('cis-os-3.3.10', 1, sysctl({ 'net/ipv4/tcp_syncookies': '1' })),
  os(
    'cis-os-3.3.11',
    1,
    sysctl({ 'net/ipv6/conf/all/accept_ra': '0', 'net/ipv6/conf/default/accept_ra': '0' }, [
      'net/ipv6/conf/all/accept_ra',
      'net/ipv6/conf/default/accept_ra',
    ]),
    { off: 'Machines whose IPv6 default route comes from router advertisements lose it.' },
  ),
  os('cis-os-1.5.1', 1, sysctl({ 'kernel/randomize_va_space': '2' })),
  os('cis-os-1.5.2', 1, sysctl({ 'kernel/yama/ptrace_scope': '1' }, ['kernel/yama/ptrace_scope'])),
  os('cis-os-1.5.3', 1, sysctl({ 'fs/suid_dumpable': '0' })),
  os('cis-os-1.1.1.1', 1, moduleDenied('cramfs')),
  os('cis-os-1.1.1.2', 1, moduleDenied('freevxfs')),
  os('cis-os-1.1.1.3', 1, moduleDenied('hfs')),
  os('cis-os-1.1.1.4', 1, moduleDenied('hfsplus')),
  os('cis-os-1.1.1.5', 1, moduleDenied('jffs2')),
  os('cis-os-1.1.1.9', 1, moduleDenied('usb_storage')),
  os('cis-os-3.2.1', 2, moduleDenied('dccp')),
  os('cis-os-3.2.2', 2, moduleDenied('tipc')),
  os('cis-os-3.2.3', 2, moduleDenied('rds')),
  os('cis-os-1.1.1.6', 2, unimplementable('overlayfs denied', 'containerd keeps the layers of images in it.')),
  os('cis-os-1.1.1.7', 2, moduleDenied('squashfs'), { off: 'Snap packages are squashfs images.' }),
  os('cis-os-1.1.1.8', 2, moduleDenied('udf'), { off: 'Configuration drives of some clouds are UDF.' }),
  os('cis-os-3.2.4', 2, moduleDenied('sctp'), { off: 'Services and pods may speak SCTP.' }),
  os('k8s-base-modules', 'base', { kind: 'modules-loaded', modules: ['overlay', 'br_netfilter'] }),
  os(
    'k8s-base-sysctl',
    'base',
    sysctl({
      'net/ipv4/ip_forward': '1',
      'net/bridge/bridge-nf-call-iptables': '1',
      'net/bridge/bridge-nf-call-ip6tables': '1',
    }),
  ),
  os('k8s-protect-kernel-defaults', 'base', sysctl(KUBELET_KERNEL_SETTINGS)),
];
