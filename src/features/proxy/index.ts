import type { ProxyModel } from '@machineadm/document/model/index.ts';
import { ENVIRONMENT_FILE, PROXY_DROP_IN, PROXY_FILE, PROXY_SERVICES } from '@machineadm/document/ownership/paths.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import type { ServiceEnvironment } from '../../host/seam/services.ts';
import { isAsWritten, type OwnFile, readOwnFile } from '../../owned-files/difference.ts';
import { blockIn, PROXY_BLOCK, rewriteShared, withBlock, withoutBlock } from '../../owned-files/marked-block.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import { restartIfActive } from '../../step/follow-up.ts';
import type { Change, FollowUp, UnmetRequirement } from '../../step/index.ts';
import { bypassOf } from './bypass.ts';
import { ifSecretsExist, missingOfProxy, proxyUrls, proxyVariables, singleQuoted } from './variables.ts';

type Service = (typeof PROXY_SERVICES)[number];

export interface ProxyDesired {
  readonly proxy: ProxyModel;
  readonly bypass: readonly string[];
  /** A later step of this document restarts containerd for itself, and for this step. */
  readonly containerdRestartsLater: boolean;
  /** An early hook may still write the source of a secret. */
  readonly afterHooks: boolean;
}

export interface ProxyActual {
  /** Whether the file of variables is right; undefined: the URLs cannot be resolved yet, or only by a run. */
  readonly file: 'right' | 'wrong' | 'absent' | undefined;
  readonly services: readonly {
    readonly name: Service;
    readonly active: boolean;
    readonly environment: ServiceEnvironment;
    /** The file that passes it the variables. */
    readonly file: OwnFile;
  }[];
  readonly environment: { readonly isRight: boolean | undefined; readonly hasBlock: boolean };
}

export type ProxyPayload =
  | { readonly kind: 'variables' | 'environment'; readonly desired: ProxyDesired }
  | { readonly kind: 'forget-environment' }
  | { readonly kind: 'forget-variables' }
  | { readonly kind: 'service'; readonly environment: ServiceEnvironment; readonly wanted: boolean };

/**
 * The proxy of containerd, of the kubelet and of login sessions. It belongs to the instance (`node`), because a proxy
 * depends on the network of a machine and not on its image.
 * kubeadm never gets it: it copies the proxy variables of its environment into every static pod of the control plane
 * (k/k cmd/kubeadm/app/util/env.go, GetProxyEnvVars), where they, and their credentials, would stay permanently and
 * send the API server's calls to webhooks and aggregated APIs through the proxy. containerd pulls the images, and
 * kubeadm's other connections are to the cluster.
 */
export const proxy: FeatureStep<ProxyDesired, ProxyActual, ProxyPayload> = {
  id: 'proxy',
  section: 'host.proxy',
  isRequested: ({ host }) => host.proxy !== undefined,
  sharedLines: { path: ENVIRONMENT_FILE, isOne: true, without: (text) => withoutBlock(text, PROXY_BLOCK) },
  followUps: {
    settles: ['daemon-reload', 'restart:kubelet'],
    settlesFor: ({ containerdRestartsLater }) => (containerdRestartsLater ? [] : ['restart:containerd']),

    /** A stopped service needs no restart: it reads the variables when it starts. */
    async perform(host, _desired, followUp) {
      if (followUp === 'daemon-reload') return await host.services.reload();
      await restartIfActive(host, followUp);
    },
  },

  desired(model, facts) {
    const { proxy, certificateAuthorities, hooks } = model.host;
    if (proxy === undefined) return undefined;
    return {
      proxy,
      bypass: bypassOf(proxy, model.kubernetes, facts),
      containerdRestartsLater: model.containerd !== undefined || certificateAuthorities.length > 0,
      afterHooks: hooks.early !== undefined,
    };
  },

  async preflight(host, desired): Promise<readonly UnmetRequirement[]> {
    return await missingOfProxy(proxyUrls(host, desired.proxy), desired.afterHooks);
  },

  async inspect(host, desired) {
    const services = await Promise.all(
      PROXY_SERVICES.map(async (name) => {
        const { active } = await host.service(name);
        const environment = host.serviceEnvironment(name, PROXY_DROP_IN, PROXY_FILE);
        return { name, environment, file: await readOwnFile(host, environment.path), active };
      }),
    );
    const everybody = (await host.readText(ENVIRONMENT_FILE)) ?? '';
    const urls = await ifSecretsExist(proxyUrls(host, desired.proxy));
    const block = blockIn(everybody, PROXY_BLOCK);
    const lines = urls === undefined ? undefined : proxyVariables(urls, desired.bypass);
    return {
      file: await inspectFile(host, urls && fileText(desired, urls)),
      services,
      environment: { isRight: lines === undefined ? undefined : block === lines, hasBlock: block !== undefined },
    };
  },

  plan(desired, actual) {
    return [...fileChanges(desired, actual), ...serviceChanges(desired, actual), ...loginChanges(desired, actual)];
  },

  async apply(host, { payload }) {
    switch (payload.kind) {
      case 'variables': {
        const { desired } = payload;
        const content = fileText(desired, (await proxyUrls(host, desired.proxy)) ?? unknownUrls());
        return await host.writeFile({ path: PROXY_FILE, content, mode: 0o600, directoryMode: 0o755 });
      }
      case 'forget-variables':
        return await host.removeFile(PROXY_FILE);
      case 'environment': {
        const urls = (await proxyUrls(host, payload.desired.proxy)) ?? unknownUrls();
        return await rewriteShared(host, ENVIRONMENT_FILE, (text) =>
          withBlock(text, PROXY_BLOCK, proxyVariables(urls, payload.desired.bypass)),
        );
      }
      case 'forget-environment':
        return await rewriteShared(host, ENVIRONMENT_FILE, (text) => withoutBlock(text, PROXY_BLOCK));
      case 'service':
        return await applyService(host, payload.environment, payload.wanted);
    }
  },

  settled: async (host) => await host.sync('/etc'),
};

function fileChanges(desired: ProxyDesired, actual: ProxyActual): readonly Change<ProxyPayload>[] {
  const users = PROXY_SERVICES.filter((name) => desired.proxy.for.includes(name));
  if (users.length === 0) {
    if (actual.file === 'absent') return [];
    const payload: ProxyPayload = { kind: 'forget-variables' };
    return [
      { id: 'proxy/variables', summary: `remove ${PROXY_FILE}: no service has the proxy`, scope: 'node', payload },
    ];
  }
  if (actual.file === 'right') return [];
  const what = actual.file === undefined ? ' (a run checks whether it changed)' : '';
  return [
    {
      id: 'proxy/variables',
      summary: `${actual.file === 'wrong' ? 'update' : 'write'} ${PROXY_FILE}, for ${users.join(' and ')}${what}`,
      scope: 'node',
      owes: actual.services
        .filter(({ name, active }) => active && users.includes(name))
        .map(({ name }) => restartOf(name)),
      payload: { kind: 'variables', desired },
    },
  ];
}

function serviceChanges({ proxy }: ProxyDesired, actual: ProxyActual): readonly Change<ProxyPayload>[] {
  return actual.services.flatMap(({ name, environment, file, active }) => {
    const wanted = proxy.for.includes(name);
    if (hasEnvironment(environment, file) === (wanted ? 'right' : 'absent')) return [];
    const owes: readonly FollowUp[] = active ? ['daemon-reload', restartOf(name)] : ['daemon-reload'];
    const summary = `${environment.path}: ${name} ${wanted ? 'reads' : 'no longer reads'} ${PROXY_FILE}`;
    const payload: ProxyPayload = { kind: 'service', environment, wanted };
    return [{ id: `proxy/${name}`, summary, scope: 'node' as const, owes, payload }];
  });
}

function loginChanges(desired: ProxyDesired, actual: ProxyActual): readonly Change<ProxyPayload>[] {
  const { isRight, hasBlock } = actual.environment;
  const id = 'proxy/environment';
  if (!desired.proxy.for.includes('environment')) {
    if (!hasBlock) return [];
    const summary = `${ENVIRONMENT_FILE}: remove the proxy`;
    return [{ id, summary, scope: 'node', payload: { kind: 'forget-environment' } }];
  }
  if (isRight === true) return [];
  return [
    {
      id,
      summary: `${ENVIRONMENT_FILE}: the proxy of logins`,
      scope: 'node',
      payload: { kind: 'environment', desired },
    },
  ];
}

function restartOf(name: Service): FollowUp {
  return name === 'kubelet' ? 'restart:kubelet' : 'restart:containerd';
}

function fileText({ bypass }: ProxyDesired, urls: Parameters<typeof proxyVariables>[0]): string {
  return `# Written by machineadm.\n${proxyVariables(urls, bypass, singleQuoted)}`;
}

async function inspectFile(host: QueryHost, wanted: string | undefined): Promise<ProxyActual['file']> {
  const file = await readOwnFile(host, PROXY_FILE, 0o600);
  if (file.text === undefined) return 'absent';
  if (wanted === undefined) return undefined;
  return isAsWritten(file, wanted) ? 'right' : 'wrong';
}

function hasEnvironment({ shared, lines }: ServiceEnvironment, file: OwnFile): 'right' | 'wrong' | 'absent' {
  const found = shared ? { text: blockIn(file.text ?? '', PROXY_BLOCK), attributes: undefined } : file;
  if (found.text === undefined) return 'absent';
  return isAsWritten(found, lines) ? 'right' : 'wrong';
}

async function applyService(host: Host, environment: ServiceEnvironment, wanted: boolean): Promise<void> {
  const { path, lines, shared } = environment;
  if (shared) {
    await rewriteShared(host, path, (text) =>
      wanted ? withBlock(text, PROXY_BLOCK, lines) : withoutBlock(text, PROXY_BLOCK),
    );
  } else if (wanted) {
    await host.writeFile({ path, content: lines, mode: 0o644 });
  } else {
    await host.removeFile(path);
  }
}

function unknownUrls(): never {
  throw new Error('a host that may change the machine finds every secret out');
}
