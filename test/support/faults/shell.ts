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
