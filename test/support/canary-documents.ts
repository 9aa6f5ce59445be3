import { gzipSync } from 'node:zlib';
import { Canaries } from './canaries.ts';

/** What the documents meet on the machine of the test. */
export interface CanaryPlaces {
  /** Of a server that answers with the secret of `secrets.*.http`. */
  readonly url: string;
  /** Where the Exec sink writes the events that it gets. */
  readonly received: string;
  /** The last command of the hook: how the run ends. */
  readonly last: string;
}

/** Files and variables from which the documents take secrets, by path and name. */
export interface SecretSources {
  readonly files: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  readonly served: string;
}

/** What a program that a hook runs may do with its secret: print it in every encoding that a shell has. */
const PRINTS: readonly string[] = [
  'cat "$F"',
  'base64 -w0 "$F"',
  '{ printf x; cat "$F"; } | base64 -w0',
  '{ printf xy; cat "$F"; } | base64 -w0',
  'base64 -w0 "$F" | tr +/ -_',
  'od -An -v -tx1 "$F" | tr -d " \\n"',
  'od -An -v -to1 "$F" | sed "s/ /\\\\\\\\/g" | tr -d "\\n"',
  'sed "s/[0-9]/%3&/g" "$F"',
  'printf \'{"inner":"{\\\\"v\\\\":\\\\"%s\\\\"}"}\' "$(cat "$F")"',
  'base64 -w0 "$F" | base64 -w0',
  'printf "<v>%s</v>" "$(sed "s/[0-9]/\\&#x3&;/g" "$F")"',
  'printf "v: \'%s\'" "$(cat "$F")"',
];

export const PRINT_COUNT = PRINTS.length;

/** Prints every file that it is named as it is and in base64: what an angry or careless bootstrapper does. */
export const TELL_ALL =
  'for file in "$@"; do [ -f "$file" ] || continue; echo "== $file"; cat "$file"; base64 "$file"; base64 -w0 "$file"; echo; done';

const HEADER = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap' };
const VERSION = 'v1.31.4';
/** The bootstrapper has had the secrets by then; nothing is worth a longer wait. */
const QUICKLY = { ready: { require: 'KubeletHealthy', timeout: '1s' }, timeouts: { overall: '30s' } };
const ONE_ATTEMPT = { retry: { attempts: 1 } };
const CREDENTIALS = 'host.activeDirectory.credentials';

/** Documents that together have a secret in every field that could hold one. Each is one that `validate` accepts. */
export type DocumentName =
  | 'host'
  | 'machine'
  | 'init'
  | 'webhooks'
  | 'control-plane'
  | 'worker'
  | 'exec'
  | 'domain'
  | 'account';

export class CanaryDocuments {
  readonly canaries = new Canaries();
  readonly sources: SecretSources;
  readonly #sources: Readonly<Record<string, object>>;

  constructor() {
    const { canaries } = this;
    const source = (kind: string): string => canaries.word('secrets.*.value', kind);
    this.sources = {
      files: {
        '/tmp/canary-source': source('that a file has'),
        '/tmp/canary-credentials/credential': source('that is a credential of systemd'),
        '/tmp/canary-printed': source('that a program prints'),
      },
      environment: {
        CANARY: source('of a variable'),
        CREDENTIALS_DIRECTORY: '/tmp/canary-credentials',
      },
      served: source('that a server has'),
    };
    this.#sources = {
      ofFile: { file: '/tmp/canary-source' },
      ofEnvironment: { env: 'CANARY' },
      ofSystemd: { systemdCredential: 'credential' },
      ofProgram: {
        exec: {
          command: ['sh', '-c', 'cat /tmp/canary-printed', `--token=${canaries.word('secrets.*.exec.command[]')}`],
        },
      },
    };
    for (const name of DOCUMENTS)
      this.tree(name, { url: 'http://127.0.0.1:9', received: '/tmp/received', last: 'true' });
  }

  tree(name: DocumentName, places: CanaryPlaces): object {
    const { [name]: document } = {
      host: () => this.#host(places),
      machine: () => this.#machine(),
      init: () => this.#init(),
      webhooks: () => this.#webhooks(),
      'control-plane': () => this.#controlPlane(),
      worker: () => this.#worker(),
      exec: () => this.#exec(),
      domain: () => this.#member({ oneTimePassword: this.canaries.word(`${CREDENTIALS}.oneTimePassword`) }),
      account: () => this.#member({ user: 'joiner', password: this.canaries.word(`${CREDENTIALS}.password`) }),
    };
    return { ...HEADER, metadata: { name: 'canaries' }, ...document() };
  }

  /** Runs to its end wherever it is root: every source of secrets, a hook that prints all, files, users, sinks. */
  #host({ url, received, last }: CanaryPlaces): object {
    const { canaries } = this;
    const at = (field: string, which = ''): string => canaries.word(field, which);
    const declared = PRINTS.map((_, index) => `declared${index}`);
    const used = [...declared, ...Object.keys(this.#sources), 'served'];
    const prints = used.map(
      (_, index) => `F=$SECRET_${index}; ${PRINTS[index % PRINTS.length]}; echo " print ${index}"`,
    );
    const command = (which: string): string => at('host.hooks.early.commands[]', which);
    const encoded = at('host.files[].content', 'in base64');
    const packed = at('host.files[].content', 'in gzip and base64');
    return {
      secrets: {
        ...Object.fromEntries(declared.map((name) => [name, { value: at('secrets.*.value', name) }])),
        unused: { value: at('secrets.*.value', 'that nothing uses') },
        ...this.#sources,
        served: {
          http: {
            url: `${url}/secret`,
            allowInsecure: true,
            headers: { 'x-any': at('secrets.*.http.headers.*') },
            pointer: '/data/value',
          },
        },
      },
      host: {
        users: [{ name: 'canary', passwordHash: `$6$salt$${at('host.users[].passwordHash')}` }],
        proxy: {
          http: `http://user:${at('host.proxy.http')}@127.0.0.1:9`,
          https: `http://user:${at('host.proxy.https')}@127.0.0.1:9`,
          for: ['agent'],
        },
        files: [
          {
            path: '/tmp/canary-target/content',
            mode: '0600',
            content: `key=${at('host.files[].content', 'of its owner')}\n`,
          },
          {
            path: '/tmp/canary-target/append',
            mode: '0600',
            append: true,
            content: `token ${at('host.files[].content', 'added')}\n`,
          },
          {
            path: '/tmp/canary-target/wg0.conf',
            mode: '0600',
            content: `[Interface]\nPrivateKey = ${canaries.base64Key('host.files[].content')}\n`,
          },
          { path: '/tmp/canary-target/secret', contentFrom: { secret: 'declared0' } },
          {
            path: '/tmp/canary-target/encoded',
            mode: '0400',
            encoding: 'base64',
            content: Buffer.from(encoded).toString('base64'),
          },
          {
            path: '/tmp/canary-target/packed',
            mode: '0400',
            encoding: 'gzip+base64',
            content: gzipSync(packed).toString('base64'),
          },
        ],
        hooks: {
          early: {
            environment: { ANY: at('host.hooks.early.environment.*') },
            secrets: Object.fromEntries(used.map((name, index) => [`SECRET_${index}`, { secret: name }])),
            commands: [
              `: curl -H "Authorization: Bearer ${command('a bearer token')}" https://x.example`,
              `: --password ${command('a flag')}`,
              `: PASSWORD=${command('an assignment')}`,
              `: https://user:${command('user of a URL')}@x.example/p?sig=${command('query of a URL')}`,
              `echo token=${command('printed')} "$ANY"`,
              `set -x; : ${command('in a trace')}; set +x`,
              ['sh', '-c', `: --password ${at('host.hooks.early.commands[][]')}`],
              ...prints,
              last,
            ],
          },
        },
      },
      reporting: {
        sinks: [
          {
            type: 'Exec',
            command: ['sh', '-c', `cat >>${received}`, `--token=${at('reporting.sinks[](Exec).command[]')}`],
            environment: { V: at('reporting.sinks[](Exec).environment.*') },
          },
          {
            type: 'Webhook',
            url: 'http://127.0.0.1:9/a',
            headers: { 'x-any': at('reporting.sinks[](Webhook).headers.*') },
          },
          {
            type: 'Webhook',
            name: 'userinfo',
            url: `http://user:${at('reporting.sinks[](Webhook).url', 'user')}@127.0.0.1:9/p?token=${at('reporting.sinks[](Webhook).url', 'query')}`,
            secret: `whsec_${canaries.base64Key('reporting.sinks[](Webhook).secret')}`,
            previousSecret: `whsec_${canaries.base64Key('reporting.sinks[](Webhook).previousSecret')}`,
          },
          {
            type: 'OTLP',
            url: `http://user:${at('reporting.sinks[](OTLP).url')}@127.0.0.1:9/traces`,
            headers: { 'x-any': at('reporting.sinks[](OTLP).headers.*') },
          },
          {
            type: 'NATS',
            servers: ['nats://127.0.0.1:9'],
            subject: 'a.b',
            credentials: { token: at('reporting.sinks[](NATS).credentials.token') },
          },
        ],
      },
    };
  }

  /** What needs programs that the machine of the test lacks: services, containerd, a domain, all other sinks. */
  #machine(): object {
    const { canaries } = this;
    const at = (field: string, which = ''): string => canaries.word(field, which);
    const registry = 'containerRuntime.containerd.registries[]';
    const client = (field: string): object => {
      const { certificate, key } = canaries.keyPair(field);
      return { certificate, key };
    };
    const nats = { type: 'NATS', servers: ['tls://nats.example'], subject: 'a.b' };
    const kubernetes = { type: 'Kubernetes', configMap: { namespace: 'a', name: 'b' } };
    const ca = canaries.keyPair('kubernetes.pki.ca.key').certificate;
    const endpoint = (path: string): object => ({
      headers: { 'x-any': at(`${path}.headers.*`) },
      credentials: { username: at(`${path}.credentials.username`), password: at(`${path}.credentials.password`) },
      clientCertificate: client(`${path}.clientCertificate.key`),
    });
    return {
      secrets: {
        manager: {
          awsSecretsManager: {
            secretId: 'a',
            region: 'eu-west-1',
            endpoint: `https://user:${at('secrets.*.awsSecretsManager.endpoint')}@x.example`,
          },
        },
        parameter: {
          awsParameter: {
            name: 'a',
            region: 'eu-west-1',
            endpoint: `https://user:${at('secrets.*.awsParameter.endpoint')}@x.example`,
          },
        },
        http: {
          http: {
            url: `https://user:${at('secrets.*.http.url', 'user')}@x.example/p?token=${at('secrets.*.http.url', 'query')}`,
          },
        },
      },
      host: {
        activeDirectory: {
          domain: 'corp.example.com',
          credentials: { offlineBlob: Buffer.from(at(`${CREDENTIALS}.offlineBlob`)).toString('base64') },
          logins: { allowedGroups: ['Admins'] },
        },
        storage: {
          filesystems: [
            {
              device: { path: '/dev/vdc' },
              type: 'ext4',
              options: [`--password=${at('host.storage.filesystems[].options[]')}`],
            },
          ],
          mounts: [
            {
              device: { path: '/dev/vdc' },
              path: '/mnt/share',
              type: 'ext4',
              options: [`password=${at('host.storage.mounts[].options[]')}`],
            },
          ],
        },
        services: [
          {
            name: 'agent',
            dropIns: [
              {
                name: '10-env.conf',
                content: `[Service]\nEnvironment=ANY=${at('host.services[].dropIns[].content')}\n`,
              },
            ],
          },
        ],
        files: [
          {
            path: '/tmp/canary-target/http',
            contentFrom: {
              http: {
                url: `https://user:${at('host.files[].contentFrom.http.url')}@x.example/f`,
                sha256: '0'.repeat(64),
                headers: { 'x-any': at('host.files[].contentFrom.http.headers.*') },
              },
            },
          },
        ],
      },
      containerRuntime: {
        containerd: {
          runtimes: {
            kata: {
              options: {
                Token: at('containerRuntime.containerd.runtimes.*.options.*'),
                list: [{ password: at('containerRuntime.containerd.runtimes.*.options.*[]') }],
              },
            },
          },
          settings: {
            plugins: {
              'io.containerd.grpc.v1.cri': {
                registry: {
                  configs: {
                    'r.example': {
                      auth: {
                        auth: at('containerRuntime.containerd.settings.*', 'auth'),
                        identitytoken: at('containerRuntime.containerd.settings.*', 'identity'),
                      },
                    },
                  },
                },
              },
            },
            list: [{ password: at('containerRuntime.containerd.settings.*[]') }],
          },
          registries: [
            {
              host: 'r.example',
              ...endpoint(registry),
              mirrors: [{ url: 'https://m.example', ...endpoint(`${registry}.mirrors[]`) }],
            },
          ],
        },
      },
      images: {
        archives: [
          {
            url: `https://user:${at('images.archives[].url')}@x.example/i.tar`,
            sha256: '0'.repeat(64),
            headers: { 'x-any': at('images.archives[].headers.*') },
          },
        ],
      },
      reporting: {
        sinks: [
          { ...kubernetes, name: 'k1', kubeconfig: kubeconfig(at('reporting.sinks[](Kubernetes).kubeconfig'), ca) },
          {
            ...kubernetes,
            name: 'k2',
            server: `https://user:${at('reporting.sinks[](Kubernetes).server')}@k.example`,
            certificateAuthority: ca,
            token: at('reporting.sinks[](Kubernetes).token'),
          },
          {
            ...kubernetes,
            name: 'k3',
            server: 'https://k.example',
            certificateAuthority: ca,
            clientCertificate: client('reporting.sinks[](Kubernetes).clientCertificate.key'),
          },
          {
            ...nats,
            name: 'n1',
            credentials: { user: 'u', password: at('reporting.sinks[](NATS).credentials.password') },
          },
          {
            ...nats,
            name: 'n2',
            credentials: {
              credentialsFile: credentialsFile(at('reporting.sinks[](NATS).credentials.credentialsFile')),
            },
          },
          {
            ...nats,
            name: 'n3',
            credentials: { nkey: `SU${at('reporting.sinks[](NATS).credentials.nkey')}` },
            clientCertificate: client('reporting.sinks[](NATS).clientCertificate.key'),
          },
          {
            type: 'OTLP',
            name: 'o1',
            url: 'https://o.example/v1',
            clientCertificate: client('reporting.sinks[](OTLP).clientCertificate.key'),
          },
          {
            type: 'Webhook',
            name: 'w1',
            url: 'https://w.example/v1',
            clientCertificate: client('reporting.sinks[](Webhook).clientCertificate.key'),
          },
          {
            type: 'AWS',
            name: 'a1',
            topicARN: 'arn:aws:sns:eu-west-1:123456789012:bootstrap',
            endpoint: `https://user:${at('reporting.sinks[](AWS).endpoint')}@x.example`,
            bucket: {
              name: 'reports',
              endpoint: `https://user:${at('reporting.sinks[](AWS).bucket.endpoint')}@x.example`,
            },
          },
          {
            type: 'GCP',
            name: 'g1',
            topic: 'projects/my-project/topics/bootstrap',
            endpoint: `https://user:${at('reporting.sinks[](GCP).endpoint')}@x.example`,
          },
        ],
      },
    };
  }

  /** A first control plane with all that its API server is given. */
  #init(): object {
    const { canaries } = this;
    const at = (field: string, which = ''): string => canaries.word(field, which);
    const control = 'kubernetes.controlPlane';
    const server = `${control}.apiServer`;
    const pair = (name: string): object => {
      const { certificate, key } = canaries.keyPair(`kubernetes.pki.${name}.key`);
      return { certificate, key };
    };
    const client = (field: string): object => {
      const { certificate, key } = canaries.keyPair(field);
      return { certificate, key };
    };
    const component = (path: string): object => ({
      args: [{ name: 'cloud-token', value: at(`${path}.args[].value`) }],
      env: [{ name: 'ANY', value: at(`${path}.env[].value`) }],
    });
    const webhook = (path: string): object => ({
      server: `https://x.example/hook?token=${at(`${path}.server`)}`,
      clientCertificate: client(`${path}.clientCertificate.key`),
    });
    const serviceAccount = canaries.keyPair('kubernetes.pki.serviceAccount.key');
    return {
      secrets: {},
      kubernetes: {
        version: VERSION,
        role: 'InitControlPlane',
        cluster: {
          bootstrapTokens: [{ token: canaries.bootstrapToken('kubernetes.cluster.bootstrapTokens[].token') }],
        },
        pki: {
          ca: pair('ca'),
          etcd: pair('etcd'),
          frontProxy: pair('frontProxy'),
          serviceAccount: { publicKey: serviceAccount.publicKey, key: serviceAccount.key },
        },
        controlPlane: {
          certificateKey: canaries.hexKey(`${control}.certificateKey`),
          apiServer: {
            ...component(server),
            audit: {
              policy: { rules: [{ level: 'Metadata' }] },
              webhook: webhook(`${server}.audit.webhook`),
            },
            encryptionAtRest: {
              providers: ['secretbox', 'aescbc', 'aesgcm'].map((kind) => ({
                [kind]: {
                  keys: [
                    { name: 'k', key: canaries.base64Key(`${server}.encryptionAtRest.providers[].${kind}.keys[].key`) },
                  ],
                },
              })),
            },
            authentication: { webhook: webhook(`${server}.authentication.webhook`) },
            authorization: { webhook: webhook(`${server}.authorization.webhook`) },
            admission: {
              config: [
                {
                  plugin: 'PodNodeSelector',
                  configuration: { password: at(`${server}.admission.config[].configuration.*`) },
                },
              ],
            },
          },
          controllerManager: component(`${control}.controllerManager`),
          scheduler: component(`${control}.scheduler`),
          etcd: { local: component(`${control}.etcd.local`) },
          staticPods: [{ name: 'vip', manifest: podManifest(at(`${control}.staticPods[].manifest`)) }],
        },
        node: {
          name: 'canaries',
          kubelet: {
            args: [{ name: 'node-token', value: at('kubernetes.node.kubelet.args[].value') }],
            config: { staticPodURLHeader: { Authorization: [`Bearer ${at('kubernetes.node.kubelet.config.*')}`] } },
          },
        },
        addons: { proxy: { config: { clientConnection: { token: at('kubernetes.addons.proxy.config.*') } } } },
        bootstrapper: {
          kubeadm: {
            ...ONE_ATTEMPT,
            patches: [
              {
                target: 'kube-apiserver',
                patch: {
                  spec: {
                    containers: [
                      {
                        name: 'kube-apiserver',
                        env: [{ name: 'ANY', value: at('kubernetes.bootstrapper.kubeadm.patches[].patch.*') }],
                      },
                    ],
                  },
                },
              },
              {
                target: 'etcd',
                type: 'json',
                patch: [
                  {
                    op: 'add',
                    path: '/spec/containers/0/env/-',
                    value: { name: 'PASSWORD', value: at('kubernetes.bootstrapper.kubeadm.patches[].patch[]') },
                  },
                ],
              },
            ],
          },
        },
        ...QUICKLY,
      },
      reporting: { sinks: [] },
    };
  }

  /** Webhooks of the API server that show a token, which excludes a certificate. */
  #webhooks(): object {
    const path = 'kubernetes.controlPlane.apiServer';
    const webhook = (name: string): object => ({
      server: 'https://x.example',
      token: this.canaries.word(`${path}.${name}.webhook.token`),
    });
    return {
      kubernetes: {
        version: VERSION,
        role: 'InitControlPlane',
        ...QUICKLY,
        bootstrapper: { kubeadm: ONE_ATTEMPT },
        controlPlane: {
          apiServer: {
            audit: { policy: { rules: [{ level: 'Metadata' }] }, webhook: webhook('audit') },
            authentication: { webhook: webhook('authentication') },
            authorization: { webhook: webhook('authorization') },
          },
        },
      },
      reporting: { sinks: [] },
    };
  }

  /** Joins with a token that nothing checks. */
  #controlPlane(): object {
    const { canaries } = this;
    const structured = 'kubernetes.controlPlane.apiServer.authorization.structured[].webhook';
    const { certificate, key } = canaries.keyPair(`${structured}.clientCertificate.key`);
    const etcdClient = canaries.keyPair('kubernetes.pki.apiserverEtcdClient.key');
    const webhook = {
      server: `https://x.example/hook?token=${canaries.word(`${structured}.server`)}`,
      failurePolicy: 'Deny',
    };
    return {
      host: {
        hooks: {
          beforeBootstrap: {
            commands: [
              `: --password ${canaries.word('host.hooks.beforeBootstrap.commands[]')}`,
              ['sh', '-c', `: --password ${canaries.word('host.hooks.beforeBootstrap.commands[][]')}`],
            ],
            environment: { ANY: canaries.word('host.hooks.beforeBootstrap.environment.*') },
          },
          afterBootstrap: {
            commands: [
              `: --password ${canaries.word('host.hooks.afterBootstrap.commands[]')}`,
              ['sh', '-c', `: --password ${canaries.word('host.hooks.afterBootstrap.commands[][]')}`],
            ],
            environment: { ANY: canaries.word('host.hooks.afterBootstrap.environment.*') },
          },
        },
      },
      kubernetes: {
        version: VERSION,
        role: 'JoinControlPlane',
        ...QUICKLY,
        pki: { apiserverEtcdClient: { certificate: etcdClient.certificate, key: etcdClient.key } },
        controlPlane: {
          certificateKey: canaries.hexKey('kubernetes.controlPlane.certificateKey'),
          apiServer: {
            authorization: {
              structured: [
                { type: 'Node', name: 'node' },
                { type: 'RBAC', name: 'rbac' },
                { type: 'Webhook', name: 'a', webhook: { ...webhook, token: canaries.word(`${structured}.token`) } },
                { type: 'Webhook', name: 'b', webhook: { ...webhook, clientCertificate: { certificate, key } } },
              ],
            },
          },
        },
        join: {
          discovery: {
            token: {
              token: canaries.bootstrapToken('kubernetes.join.discovery.token.token'),
              endpoint: '127.0.0.1:1',
              unsafeSkipCAVerification: true,
            },
          },
          tlsBootstrapToken: canaries.bootstrapToken('kubernetes.join.tlsBootstrapToken'),
        },
        bootstrapper: {
          kubeadm: {
            ...ONE_ATTEMPT,
            extraDocuments: [
              {
                apiVersion: 'kubelet.config.k8s.io/v1beta1',
                kind: 'KubeletConfiguration',
                staticPodURLHeader: {
                  'X-Any': [`Bearer ${canaries.word('kubernetes.bootstrapper.kubeadm.extraDocuments[].*')}`],
                },
              },
            ],
          },
        },
      },
      reporting: { sinks: [] },
    };
  }

  /** Joins with a discovery file that holds a token. */
  #worker(): object {
    const { canaries } = this;
    const file = 'kubernetes.join.discovery.file.kubeconfig';
    return {
      kubernetes: {
        version: VERSION,
        role: 'Worker',
        ...QUICKLY,
        bootstrapper: { kubeadm: ONE_ATTEMPT },
        join: {
          discovery: {
            file: {
              kubeconfig: {
                server: `https://user:${canaries.word(`${file}.server`)}@127.0.0.1:1`,
                insecureSkipTLSVerify: true,
                proxyURL: `http://user:${canaries.word(`${file}.proxyURL`)}@127.0.0.1:9`,
                user: { token: canaries.word(`${file}.user.token`) },
              },
            },
          },
        },
      },
      reporting: { sinks: [] },
    };
  }

  #member(credentials: object): object {
    const psk = this.canaries.word('host.network.files[].content');
    const content = `[connection]\nid=w\ntype=wifi\n[wifi]\nssid=w\n[wifi-security]\nkey-mgmt=wpa-psk\npsk=${psk}\n`;
    const network = { tool: 'NetworkManager', files: [{ name: 'w.nmconnection', content }] };
    return {
      host: { network, activeDirectory: { domain: 'corp.example.com', credentials } },
      reporting: { sinks: [] },
    };
  }

  /** A program in kubeadm's place, and a credential plugin. */
  #exec(): object {
    const { canaries } = this;
    const file = 'kubernetes.join.discovery.file.kubeconfig.user.exec';
    const exec = 'kubernetes.bootstrapper.exec';
    const flag = (field: string): string => `--token=${canaries.word(field)}`;
    return {
      kubernetes: {
        version: VERSION,
        role: 'Worker',
        timeouts: { overall: '30s' },
        join: {
          discovery: {
            file: {
              kubeconfig: {
                server: 'https://127.0.0.1:1',
                insecureSkipTLSVerify: true,
                user: {
                  exec: {
                    command: '/usr/local/bin/plugin',
                    args: [flag(`${file}.args[]`)],
                    env: [{ name: 'ANY', value: canaries.word(`${file}.env[].value`) }],
                  },
                },
              },
            },
          },
        },
        bootstrapper: {
          exec: {
            command: '/usr/local/sbin/bootstrap',
            args: [flag(`${exec}.args[]`)],
            env: [{ name: 'ANY', value: canaries.word(`${exec}.env[].value`) }],
            successTest: { command: ['true', flag(`${exec}.successTest.command[]`)] },
            reset: { command: ['true', flag(`${exec}.reset.command[]`)] },
          },
        },
      },
      reporting: { sinks: [] },
    };
  }
}

export const DOCUMENTS: readonly DocumentName[] = [
  'host',
  'machine',
  'init',
  'webhooks',
  'control-plane',
  'worker',
  'exec',
  'domain',
  'account',
];

function kubeconfig(token: string, certificateAuthority: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [
      {
        name: 'k',
        cluster: {
          server: 'https://k.example',
          'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64'),
        },
      },
    ],
    users: [{ name: 'u', user: { token } }],
  });
}

function credentialsFile(seed: string): string {
  return `-----BEGIN NATS USER JWT-----\neyJ0eXAiOiJKV1Qi.e30.c2ln\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\nSU${seed}\n------END USER NKEY SEED------\n`;
}

function podManifest(value: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'vip', namespace: 'kube-system' },
    spec: { containers: [{ name: 'vip', image: 'vip:1', env: [{ name: 'ANY', value }] }] },
  });
}

/** Fields that hold any text and are shown as they are: what names things, says who may do what, or is told to people. */
const PUBLIC_FIELDS: readonly string[] = [
  'requires.agentVersion',
  'requires.features[]',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.cluster',
  'metadata.labels.*',
  // docs/variables-and-secrets.md: variables are shown by `config show`; what is secret is declared below `secrets`.
  'variables.*.value',
  'variables.*.instanceData',
  'variables.*.metadata.path',
  'secrets.*.awsSecretsManager.secretId',
  'secrets.*.awsSecretsManager.key',
  'secrets.*.awsParameter.name',
  // Names of members of an archive.
  'host.files[].unpack.*',
  'host.sysctl.*',
  'host.storage.*.device.serial',
  'host.storage.*.device.label',
  'host.storage.*.device.partitionLabel',
  'host.storage.disks[].partitions[].size',
  'host.storage.filesystems[].label',
  'host.users[].gecos',
  'host.users[].sudo',
  'host.users[].sudo[]',
  'host.files[].contentFrom.secret',
  'host.links[].target',
  'host.apparmor.profiles[].content',
  'host.proxy.no[]',
  'host.activeDirectory.logins.allowedGroups[]',
  'host.hooks.*.secrets.*.secret',
  'containerRuntime.containerd.sandboxImage',
  'containerRuntime.containerd.registries[].verify',
  'kubernetes.bootstrapper.kubeadm.ignorePreflightErrors[]',
  'kubernetes.bootstrapper.kubeadm.extraDocuments[].apiVersion',
  'kubernetes.bootstrapper.kubeadm.extraDocuments[].kind',
  'kubernetes.bootstrapper.exec.failurePatterns[].*',
  'kubernetes.cluster.name',
  'kubernetes.cluster.bootstrapTokens[].description',
  'kubernetes.controlPlane.*.env[].valueFrom.*',
  'kubernetes.controlPlane.*.volumes[].name',
  'kubernetes.controlPlane.*SANs[]',
  'kubernetes.controlPlane.apiServer.audit.policy.*',
  'kubernetes.controlPlane.apiServer.*.tlsServerName',
  'kubernetes.controlPlane.apiServer.encryptionAtRest.resources[]',
  'kubernetes.controlPlane.apiServer.encryptionAtRest.providers[].*.name',
  // Issuers and claims are in every token that the API server accepts.
  'kubernetes.controlPlane.apiServer.authentication.structured.*',
  'kubernetes.controlPlane.apiServer.authorization.structured[].webhook.matchConditions[]',
  'kubernetes.controlPlane.apiServer.admission.enable[]',
  'kubernetes.controlPlane.apiServer.admission.disable[]',
  'kubernetes.controlPlane.apiServer.admission.config[].plugin',
  'kubernetes.controlPlane.etcd.external.endpoints[]',
  'kubernetes.controlPlane.etcd.external.httpEndpoints[]',
  'kubernetes.node.providerID',
  'kubernetes.node.taints[].*',
  'kubernetes.join.discovery.file.kubeconfig.tlsServerName',
  'kubernetes.join.discovery.file.kubeconfig.user.exec.command',
  'hardening.exceptions[].reason',
  'reporting.sinks[](NATS).credentials.user',
];

/** Whether a field is listed as public; `*` in the list stands for anything. */
export function isPublicField(field: string): boolean {
  return PUBLIC_FIELDS.some((pattern) => {
    const [first = '', ...rest] = pattern.split('*');
    if (rest.length === 0) return field === pattern;
    let at = field.startsWith(first) ? first.length : -1;
    for (const part of rest) {
      const found = at < 0 ? -1 : part === '' ? field.length : field.indexOf(part, at);
      at = found < 0 ? -1 : found + part.length;
    }
    return at === field.length;
  });
}
