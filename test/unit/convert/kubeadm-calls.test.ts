import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { convert } from '@machineadm/convert/index.ts';
import { parse, stringify } from 'yaml';

const TOKEN = 'abcdef.0123456789abcdef';
const HASH = `sha256:${'a1'.repeat(32)}`;
const JOIN = `kubeadm join api.example:6443 --token ${TOKEN} --discovery-token-ca-cert-hash ${HASH}`;

async function converted(runcmd: readonly unknown[], files: readonly object[] = [], more: object = {}) {
  const text = `#cloud-config\n${stringify({ ...more, write_files: files, runcmd })}`;
  const { documents, decisions } = await convert([{ name: 'node.yaml', text }], { kubernetesVersion: 'v1.34.2' });
  const [first] = documents;
  return {
    document: first === undefined ? undefined : parse(first.yaml),
    decisions,
    codes: decisions.map(({ code }) => code),
  };
}

describe('a call of kubeadm with flags becomes fields', () => {
  const calls: readonly (readonly [string, unknown, string])[] = [
    ['as it is', JOIN, 'Worker'],
    ['as a list of words', JOIN.split(' '), 'Worker'],
    ['with sudo and its path', `sudo -E /usr/bin/${JOIN}`, 'Worker'],
    ['with a time limit', `timeout 600 ${JOIN}`, 'Worker'],
    ['with continued lines', JOIN.replaceAll(' --', ' \\\n  --'), 'Worker'],
    ['with equals signs', JOIN.replace('--token ', '--token=').replace('hash ', 'hash='), 'Worker'],
    ['with an end of the script', `${JOIN} || exit 1`, 'Worker'],
    ['with flags before', JOIN.replace('kubeadm', 'kubeadm --v=5'), 'Worker'],
    ['with redirections', `${JOIN} > /var/log/join.log 2>&1`, 'Worker'],
    ['into the control plane', `${JOIN} --control-plane --certificate-key ${'ab'.repeat(32)}`, 'JoinControlPlane'],
  ];
  for (const [what, command, role] of calls) {
    test(what, async () => {
      const { document, codes, decisions } = await converted([command]);
      assert.equal(document?.kubernetes?.role, role, JSON.stringify(decisions));
      const { token } = document.kubernetes.join.discovery;
      assert.deepEqual(document.secrets.joinToken, { value: TOKEN });
      assert.deepEqual([token.endpoint, token.caCertHashes], ['api.example:6443', [HASH]]);
      assert.equal(document.host?.hooks, undefined);
      assert.ok(!codes.includes('UserDataWithoutKubeadm') && !codes.includes('CommandRunsKubeadm'));
      assert.ok(codes.includes('SecretInDocument'));
      assert.ok(!JSON.stringify(decisions).includes(TOKEN));
    });
  }

  test('init', async () => {
    const command = `kubeadm init --pod-network-cidr=10.244.0.0/16 --service-cidr 10.96.0.0/12 --apiserver-cert-extra-sans a.example,b.example --control-plane-endpoint api.example:6443 --kubernetes-version v1.33.4 --token ${TOKEN} --ignore-preflight-errors=NumCPU,Mem --node-name n1 --skip-phases addon/kube-proxy --feature-gates=PublicKeysECDSA=false,RootlessControlPlane=true --upload-certs`;
    const { document } = await converted(['swapoff -a', command, 'mkdir -p $HOME/.kube']);
    const { kubernetes, host } = document;
    assert.deepEqual(
      [kubernetes.role, kubernetes.version, kubernetes.node.name],
      ['InitControlPlane', 'v1.33.4', 'n1'],
    );
    assert.deepEqual(kubernetes.cluster.podSubnets, ['10.244.0.0/16']);
    assert.deepEqual(kubernetes.cluster.serviceSubnets, ['10.96.0.0/12']);
    assert.deepEqual(kubernetes.controlPlane.apiServer.certSANs, ['a.example', 'b.example']);
    assert.deepEqual(kubernetes.bootstrapper.kubeadm, {
      ignorePreflightErrors: ['NumCPU', 'Mem'],
      skipPhases: ['addon/kube-proxy'],
    });
    assert.deepEqual(kubernetes.cluster.featureGates, { PublicKeysECDSA: false, RootlessControlPlane: true });
    assert.deepEqual(host.hooks.beforeBootstrap.commands, ['swapoff -a']);
    assert.deepEqual(host.hooks.afterBootstrap.commands, ['mkdir -p $HOME/.kube']);
  });

  test('with a configuration and flags beside it, among other commands', async () => {
    const content = stringify({
      apiVersion: 'kubeadm.k8s.io/v1beta4',
      kind: 'JoinConfiguration',
      discovery: { bootstrapToken: { token: TOKEN, apiServerEndpoint: 'a:6443', caCertHashes: [HASH] } },
      nodeRegistration: { ignorePreflightErrors: ['Mem'] },
    });
    const { document, codes } = await converted(
      [
        'modprobe overlay && kubeadm join --config /run/kubeadm/j.yaml --ignore-preflight-errors=NumCPU --v 4 && systemctl restart x',
      ],
      [{ path: '/run/kubeadm/j.yaml', content }],
    );
    assert.equal(document.kubernetes.role, 'Worker');
    assert.deepEqual(document.kubernetes.bootstrapper.kubeadm, {
      verbosity: 4,
      ignorePreflightErrors: ['Mem', 'NumCPU'],
    });
    assert.deepEqual(document.host.hooks.beforeBootstrap.commands, ['{ modprobe overlay\n} || exit 1']);
    assert.deepEqual(document.host.hooks.afterBootstrap.commands, ['systemctl restart x']);
    assert.ok(!codes.includes('UserDataWithoutKubeadm'));
  });

  test('hostname is host.hostname', async () => {
    assert.equal((await converted([JOIN], [], { hostname: 'node-7' })).document.host.hostname, 'node-7');
    assert.equal((await converted([JOIN], [], { fqdn: 'node-8.example' })).document.host.hostname, 'node-8');
    assert.equal((await converted([JOIN], [], { hostname: 'x', preserve_hostname: true })).document.host, undefined);
  });
});

describe('a call that no field can say is tied to its exit status and to a proof', () => {
  const script = (content: string) => [{ path: '/opt/join.sh', content }];
  const guarded: readonly (readonly [string, readonly unknown[], readonly object[]])[] = [
    ['in a loop', [`until ${JOIN}; do sleep 5; done`], []],
    ['in a loop of several entries', ['for i in 1 2 3; do', JOIN, 'done'], []],
    ['whose failure is ignored', [`${JOIN} || { kubeadm reset -f; ${JOIN}; }`], []],
    ['in a condition', [`if ! ${JOIN}; then reboot; fi`], []],
    ['with a computed name', [`${JOIN} --node-name $(hostname -f)`], []],
    ['with a variable', ['kubeadm join $ENDPOINT --token $TOKEN --discovery-token-unsafe-skip-ca-verification'], []],
    ['with an action of the shell', ['ACTION=join', 'kubeadm $ACTION --config /x'], []],
    ['into a pipe', [`${JOIN} 2>&1 | tee /root/join.log`], []],
    ['in another shell', [['bash', '-c', JOIN]], []],
    ['with an unknown flag', [`${JOIN} --dry-run`], []],
    ['in a script that ends with it', ['bash /opt/join.sh'], script(`#!/bin/bash\n${JOIN}\n`)],
    [
      'in a script that stops at a failure',
      ['/opt/join.sh'],
      script(`#!/bin/bash\nset -euo pipefail\n${JOIN}\necho done\n`),
    ],
  ];
  for (const [what, runcmd, files] of guarded) {
    test(what, async () => {
      const { document, codes, decisions } = await converted(runcmd, files);
      assert.ok(codes.includes('KubeadmInCommand'), JSON.stringify(decisions));
      assert.ok(!codes.includes('UserDataWithoutKubeadm'));
      const commands: readonly string[] = document.host.hooks.beforeBootstrap.commands;
      const proof = commands.at(-1) ?? '';
      assert.match(proof, /kubelet\.conf/);
      const checked = spawnSync('sh', ['-n'], { input: commands.join('\n'), encoding: 'utf8' });
      assert.equal(checked.status, 0, checked.stderr);
      assert.ok(!JSON.stringify(decisions).includes(TOKEN));
    });
  }

  const refused: readonly (readonly [string, readonly unknown[], readonly object[]])[] = [
    ['in a script that goes on', ['/opt/join.sh'], script(`#!/bin/sh\n${JOIN}\necho done\n`)],
    ['in a script that nothing here runs', ['true'], script(`#!/bin/sh\nset -e\n${JOIN}\n`)],
    ['in another language', ['python3 -c "import os; os.system(\'kubeadm join --config /x\')"'], []],
    [
      'in a unit',
      ['systemctl start join'],
      [{ path: '/etc/systemd/system/join.service', content: `[Service]\nExecStart=/usr/bin/${JOIN}\n` }],
    ],
    ['by a variable', ['K=kubeadm', `$K join api:6443 --token ${TOKEN}; echo done`], []],
    ['by a variable that is completed', ['K=kubeadm; ${K:-x} join --config /x && true; echo done'], []],
    ['found by another program', ['$(command -v kubeadm) join --config /x; true'], []],
    ['by a text', ['CMD=kubeadm', 'CMD="$CMD join --config /x"', 'eval $CMD'], []],
    ['by an alias', ['alias k=kubeadm', `k join api:6443 --token ${TOKEN}`], []],
    ['by a copy', ['ln -s /usr/bin/kubeadm /usr/bin/k', 'k join --config /x'], []],
    ['by a program that only its token gives away', [`/opt/k join api:6443 --token ${TOKEN}`], []],
    ['by its path, before another command', [`/usr/bin/kubeadm join --dry-run; true`], []],
    ['in base64', [`echo ${btoa(JOIN)} | base64 -d | sh`], []],
    ['in base64 over lines', [`base64 -d <<EOF | sh\n${btoa(`true\n${JOIN}`).replace(/.{76}/g, '$&\n')}\nEOF`], []],
    ['in base64 of base64', [`echo ${btoa(btoa(`sh -c "${JOIN}"`))} | base64 -d | base64 -d | sh`], []],
    ['in compressed base64', [`echo ${gzipSync(JOIN).toString('base64')} | base64 -d | gunzip | sh`], []],
    [
      'in an encoded file',
      ['/opt/join.sh'],
      [{ path: '/opt/join.sh', encoding: 'b64', content: btoa(`#!/bin/sh\n${JOIN}\nrm -f x\n`) }],
    ],
    [
      'in a compressed file',
      ['/opt/join.sh'],
      [{ path: '/opt/join.sh', encoding: 'gz+b64', content: gzipSync(`#!/bin/sh\n${JOIN}\ntrue`).toString('base64') }],
    ],
    [
      'in a file with encoded content',
      ['/opt/x.sh'],
      [{ path: '/opt/x.sh', content: `echo ${btoa(JOIN)} | base64 -d | sh` }],
    ],
    [
      'in a list of another language',
      ['/opt/x.py'],
      [{ path: '/opt/x.py', content: `run(["kubeadm"] + ["join", url])` }],
    ],
  ];
  for (const [what, runcmd, files] of refused) {
    test(`${what}: an error with the way out`, async () => {
      const { document, codes } = await converted(runcmd, files);
      assert.equal(document, undefined);
      assert.ok(codes.includes('KubeadmHidden'), codes.join());
    });
  }

  test('a bootcmd: an error with the way out', async () => {
    const { document, codes } = await converted([], [], { bootcmd: [JOIN] });
    assert.equal(document, undefined);
    assert.ok(codes.includes('KubeadmHidden'));
  });

  for (const [what, commands] of [
    [
      'installs it',
      [
        'apt-get install -y kubeadm=1.34.2-1.1',
        'apt-mark hold kubeadm',
        'curl -LO https://a/kubeadm',
        'chmod +x kubeadm',
        'cp kubeadm /usr/bin/kubeadm',
      ],
    ],
    ['asks its version', ['kubeadm version -o short', 'kubeadm config images pull', 'command -v kubeadm']],
    [
      'joins another domain',
      ['apt-get install -y kubeadm', 'realm join corp.example', 'git init /srv/x', '# kubeadm join'],
    ],
    [
      'names its files',
      ['cat /etc/kubeadm.yml /run/kubeadm/x', 'rm /etc/systemd/system/kubelet.service.d/10-kubeadm.conf; k3s init'],
    ],
  ] as const) {
    test(`user data that only ${what} is a host without kubeadm, whose kubelet must be healthy if there is one`, async () => {
      const { document, codes } = await converted(commands);
      assert.deepEqual(
        [codes.includes('UserDataWithoutKubeadm'), codes.includes('KubeadmHidden'), document.kubernetes],
        [true, false, undefined],
        codes.join(),
      );
      const proof: string = document.host.hooks.beforeBootstrap.commands.at(-1);
      for (const [kubelet, isNode, status] of [
        [0, "-n ''", 0],
        [1, '-n x', 1],
        [0, '-n x', 0],
      ] as const) {
        const tested = proof.replace('-s /etc/kubernetes/kubelet.conf', isNode);
        const text = `seq() { :; }\ncurl() { return ${kubelet}; }\nwget() { return ${kubelet}; }\n${tested}`;
        assert.equal(spawnSync('sh', ['-c', text]).status, status, `${isNode} ${kubelet}`);
        // A machine without either program has its service manager.
        const bare = `command() { return 1; }\nsystemctl() { return ${kubelet}; }\n${text}`;
        assert.equal(spawnSync('sh', ['-c', bare]).status, status, `${isNode} ${kubelet} without curl`);
      }
    });
  }

  test('a secret in a command of any kind makes the document private', async () => {
    const { codes, decisions } = await converted([JOIN, 'kubectl --token=hunter2-Zx81kQ get nodes']);
    assert.ok(codes.includes('SecretInDocument'));
    const plain = await converted(['curl -fsS -u admin:Zx81kQ9w https://mirror.example/x -o /x']);
    assert.ok(plain.codes.includes('SecretInDocument'), JSON.stringify(plain.decisions));
    const file = await converted(['sh -e /opt/x'], [{ path: '/opt/x', content: `#!/bin/sh\nset -e\n${JOIN}\n` }]);
    assert.ok(file.codes.includes('SecretInDocument'));
    assert.ok(!JSON.stringify([decisions, plain.decisions]).includes('Zx81kQ'));
  });

  for (const [what, kubeadm, expected] of [
    ['a failure ends the run', 'return 3', /^machineadm-status 1$/m],
    ['a success without a kubelet ends it, too', 'return 0', /^machineadm-status 1$/m],
  ] as const) {
    test(`${what}, whatever the commands make of the status`, async () => {
      const { document } = await converted([`${JOIN} || true`, `for i in 1; do ${JOIN}; done; true`]);
      const commands: readonly string[] = document.host.hooks.beforeBootstrap.commands;
      const text = `command() { ${kubeadm}; }\nseq() { :; }\ncurl() { return 1; }\nwget() { return 1; }\n( ${commands.join('\n')}\n)\necho machineadm-status $?`;
      const { stdout } = spawnSync('bash', ['-c', text], { encoding: 'utf8' });
      assert.match(stdout, expected);
    });
  }
});
