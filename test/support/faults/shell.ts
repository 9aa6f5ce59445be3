import type { Sabotage } from './sabotage.ts';

/** Shell that several sabotages have in common. */

/** A drop-in for a unit, with `[Service]` and these lines. */
export function dropIn(unit: string, ...lines: readonly string[]): string {
  const directory = `/etc/systemd/system/${unit}.service.d`;
  const text = ['[Service]', ...lines].join('\\n');
  return `mkdir -p ${directory} && printf '${text}\\n' > ${directory}/90-sabotage.conf && systemctl daemon-reload`;
}

/**
 * Has the kubelet's unit start it in a cgroup of its own of this controller, after shell that sets its limit there: systemd in
 * a container does not manage the controllers of cgroup v1.
 */
export function kubeletIn(controller: string, limit: string): string {
  const group = `/sys/fs/cgroup/${controller}/sabotage`;
  const program = `mkdir -p ${group} && cd ${group} && ${limit} && echo $$$$ > cgroup.procs && exec /usr/bin/kubelet "$$@"`;
  const args = '$KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS';
  const unit = `[Service]\nExecStart=\nExecStart=/bin/sh -c '${program}' kubelet ${args}\n`;
  const path = '/etc/systemd/system/kubelet.service.d/90-sabotage.conf';
  return `cat > ${path} <<'UNIT'\n${unit}UNIT\nsystemctl daemon-reload`;
}

/** Makes a program one of another architecture: its ELF header says AArch64 (elf(5), e_machine 183). */
export function otherArchitecture(path: string): string {
  return `cp ${path} ${path}.new && printf '\\267' | dd of=${path}.new bs=1 seek=18 conv=notrunc status=none && mv ${path}.new ${path}`;
}

/** The same for a program of an image that containerd has unpacked; a copy, as snapshots are shared between machines. */
export function otherArchitectureInImage(path: string): string {
  return `for program in /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/*/fs${path}; do ${otherArchitecture('$program')}; done`;
}

/** Waits for a condition, ten times a second. */
export function until(condition: string): string {
  return `until ${condition}; do sleep 0.1; done`;
}

/** kubeadm has written the last manifest, and waits for the control plane. */
export const MANIFESTS_WRITTEN = until('test -e /etc/kubernetes/manifests/etcd.yaml');

/** Kills a program of this exact name with SIGKILL whenever it runs. */
export function killAlways(program: string): string {
  return `while :; do pkill -9 -x ${program} || true; sleep 0.2; done`;
}

/** Changes a program into a script that says so; `$1` is its first argument. */
export function replaceBy(path: string, ...script: readonly string[]): string {
  return `rm ${path} && printf '%s\\n' '#!/bin/sh' ${script.map((line) => `'${line}'`).join(' ')} > ${path} && chmod 755 ${path}`;
}

/** A file system of memory in the place of a directory. */
export function tmpfs(path: string, options: string): string {
  return `mkdir -p ${path} && mount -t tmpfs -o ${options} tmpfs ${path}`;
}

/**
 * Makes a certificate below /root/forged: `name.crt` and `name.key`, signed by a CA or by itself, valid between two times
 * (`YYYYMMDDHHMMSSZ`).
 */
export function certificate(options: {
  readonly name: string;
  readonly subject: string;
  readonly from?: string;
  readonly to?: string;
  readonly extensions: string;
  /** Directory and name of the CA, without `.crt` and `.key`; undefined: it signs itself. */
  readonly ca?: string;
}): string {
  const { name, subject, from = '20200101000000Z', to = '20490101000000Z', extensions, ca } = options;
  const at = `/root/forged/${name}`;
  const signer = ca === undefined ? `-selfsign -keyfile ${at}.key` : `-cert ${ca}.crt -keyfile ${ca}.key`;
  return [
    'mkdir -p /root/forged && cd /root/forged && rm -f index.* && : > index.txt',
    `printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=/root/forged/index.txt\\nnew_certs_dir=/root/forged\\nrand_serial=yes\\ndefault_md=sha256\\npolicy=p\\nunique_subject=no\\n[p]\\ncommonName=supplied\\norganizationName=optional\\n[x]\\n${extensions}\\n' > ca.cnf`,
    `openssl req -new -newkey rsa:2048 -nodes -subj '${subject}' -keyout ${at}.key -out ${at}.csr 2>/dev/null`,
    `openssl ca -batch -notext -config ca.cnf -extensions x -startdate ${from} -enddate ${to} ${signer} -in ${at}.csr -out ${at}.crt 2>/dev/null`,
  ].join('\n');
}

export const CA_EXTENSIONS =
  'basicConstraints=critical,CA:true\\nkeyUsage=critical,digitalSignature,keyEncipherment,keyCertSign';

export function serverExtensions(names: string): string {
  return `keyUsage=critical,digitalSignature,keyEncipherment\\nextendedKeyUsage=serverAuth,clientAuth\\nsubjectAltName=${names}`;
}

/** A packet filter drops what comes for a TCP port, or what goes to it. */
export function dropped(chain: 'INPUT' | 'OUTPUT', port: number): string {
  return `iptables -I ${chain} -p tcp --dport ${port} -j DROP`;
}

/** kubectl on the first control plane. */
export const K = 'kubectl --kubeconfig /etc/kubernetes/admin.conf';

export const BALANCER = 7443;

/** A load balancer on the first control plane that ends TLS with this certificate of /root/forged. */
export function balancer(name: string): string {
  const listen = `OPENSSL-LISTEN:${BALANCER},reuseaddr,fork,verify=0,cert=/root/forged/${name}.crt,key=/root/forged/${name}.key`;
  return `systemd-run --quiet --collect --unit=balancer socat ${listen} OPENSSL:127.0.0.1:6443,verify=0; ${until(`ss -ltn | grep -q :${BALANCER}`)}`;
}

const POD_NETWORK = '/etc/cni/net.d/10-e2e.conflist';

/** The first control plane has a network for pods, as far as its kubelet asks for one, so that it is Ready. */
export const NODE_READY: Pick<Sabotage, 'cluster' | 'restore'> = {
  cluster: [
    'mkdir -p /etc/cni/net.d',
    `echo '{"cniVersion":"0.4.0","name":"e2e","plugins":[{"type":"loopback"}]}' > ${POD_NETWORK}`,
    until(`${K} get node $FIRST --no-headers | grep -q ' Ready '`),
  ].join('\n'),
  restore: `rm ${POD_NETWORK}; ${until(`${K} get node $FIRST --no-headers | grep -q ' NotReady '`)}`,
};

/** The document gives the machine the name of the first control plane. */
export const NAME_OF_FIRST: Pick<Sabotage, 'document' | 'expected'> = {
  document: ({ name }) => ({ kubernetes: { node: { name } } }),
  expected: { reason: 'NodeNameConflict', step: 'kubeadm', exitCode: 11, proof: /already exists in the cluster/ },
};

/**
 * A Node of a machine that is no more, with what a kubelet of 1.20 takes for granted in a Node, and panics where it is not
 * there. Until it has written its own, it admits static pods by these amounts.
 */
export function nodeOfGoneMachine(name: string, conditions?: readonly object[]): object {
  const nodeInfo = {
    machineID: 'f'.repeat(32),
    bootID: 'ffffffff-ffff-4fff-8fff-ffffffffffff',
    systemUUID: '',
    kernelVersion: '',
    osImage: '',
    containerRuntimeVersion: '',
    kubeletVersion: '',
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: 'amd64',
  };
  const amounts = { cpu: '2', memory: '4Gi', 'ephemeral-storage': '20Gi', 'hugepages-2Mi': '0', pods: '110' };
  const status = { nodeInfo, capacity: amounts, allocatable: amounts };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    status: conditions === undefined ? status : { ...status, conditions },
  };
}

/** Leaves a Node of the broken machine's name in the cluster, of a machine that is no more, with this status of its Ready. */
export function leftoverNode(ready: 'True' | 'Unknown'): string {
  const conditions = [{ type: 'Ready', status: ready, reason: 'Left', message: 'of a machine that is gone' }];
  return `${K} create -f - <<NODE\n${JSON.stringify(nodeOfGoneMachine('$NODE', conditions))}\nNODE`;
}

/** An object of the cluster is taken away, and put back afterwards. */
export function without(kind: string, name: string, namespace?: string): Pick<Sabotage, 'cluster' | 'restore'> {
  const where = namespace === undefined ? '' : `-n ${namespace} `;
  return {
    cluster: `${K} ${where}get ${kind} ${name} -o json | jq 'del(.metadata.uid, .metadata.resourceVersion)' > /root/taken.json; ${K} ${where}delete ${kind} ${name}`,
    restore: `${K} ${where}create -f /root/taken.json`,
  };
}
