import { goldenUserData } from './capi.ts';
import { installClusterApi } from './capi-definitions.ts';
import { type CreatedMachine, Machines, NAMESPACE, type StoredSecret, type WithConditions } from './capi-machines.ts';
import { type KubeApiServer, startKubeApiServer } from './kube-apiserver.ts';
import { inventory } from './tenants.ts';
import { applyPolicies, InstalledTranslator, type Replica, until, webhookClient } from './translator.ts';

/** The namespace of a tenant who attacks; her cluster uses the translator, too. */
export const MALLORY = 'mallory';
export const WORKER = goldenUserData('02-worker-registry-mirrors', 'join-worker');
export const TRANSLATED = 'machineadm.dev/translated';
const CONDITION = 'machineadm.dev/BootstrapTranslated';
const ENABLED = { 'machineadm.dev/bootstrap': 'enabled' };

export const isTranslated = ({ metadata }: StoredSecret): boolean => metadata.annotations?.[TRANSLATED] !== undefined;

/** A management cluster of two tenants, with the translator as it is shipped and the optional policies. */
export class AttackedCluster implements AsyncDisposable {
  readonly server: KubeApiServer;
  readonly translator: InstalledTranslator;
  readonly replica: Replica;
  readonly machines: Machines;
  readonly ofMallory: Machines;

  private constructor(server: KubeApiServer, translator: InstalledTranslator, replica: Replica) {
    this.server = server;
    this.translator = translator;
    this.replica = replica;
    this.machines = new Machines(server, 'v1beta2');
    this.ofMallory = new Machines(server, 'v1beta2', MALLORY);
  }

  static async start(profiles: string): Promise<AttackedCluster> {
    const server = await startKubeApiServer(webhookClient());
    let translator: InstalledTranslator | undefined;
    try {
      await installClusterApi(server, 'v1beta2', NAMESPACE);
      await server.ask('POST', '/api/v1/namespaces', { metadata: { name: MALLORY } });
      await applyPolicies(server);
      translator = await InstalledTranslator.install(server, [NAMESPACE, MALLORY]);
      translator.writeProfiles(profiles);
      const reports = [NAMESPACE, MALLORY].map((name) => `--report-namespace=${name}`);
      // The limits as they are shipped.
      const replica = await translator.start('one', '--budget=3', '--deadline=8', ...reports);
      const cluster = new AttackedCluster(server, translator, replica);
      for (const one of [cluster.machines, cluster.ofMallory]) await one.createCluster();
      const probe = await cluster.wanted('probe');
      await until('the webhook is called', async () => {
        return isTranslated(await probe.createSecret('cloud-config', WORKER, '?dryRun=All'));
      });
      return cluster;
    } catch (error) {
      await translator?.[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** A machine that opted in. */
  async wanted(name: string, annotations = {}, of = this.machines): Promise<CreatedMachine> {
    return await of.create({ name, owner: 'MachineDeployment', labels: ENABLED, annotations });
  }

  async stored(name: string, namespace = NAMESPACE): Promise<StoredSecret> {
    return (await this.server.ask('GET', `/api/v1/namespaces/${namespace}/secrets/${name}`)) as StoredSecret;
  }

  async conditionOf({ path }: CreatedMachine, type = CONDITION) {
    const { status } = (await this.server.ask('GET', path)) as WithConditions;
    return status?.conditions?.find((one) => one.type === type);
  }

  async untilReason(machine: CreatedMachine, reason: string): Promise<void> {
    await until(`${machine.name} says ${reason}`, async () => (await this.conditionOf(machine))?.reason === reason);
  }

  /** All objects with their versions, once the leader has nothing left to write. */
  async settled(namespaces?: readonly string[]): Promise<readonly string[]> {
    let last = '';
    await until(
      'nothing changes any longer',
      async () => {
        const now = (await inventory(this.server, namespaces)).join('\n');
        const isSame = now === last;
        last = now;
        return isSame;
      },
      1500,
    );
    return last.split('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.translator[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

/** An owner reference to a Machine. */
export function ownerOf({ name, uid }: CreatedMachine) {
  return { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', name, uid };
}

/** A Secret as the provider writes it for the KubeadmConfig of a machine. */
export function secretFor({ name, configUid }: CreatedMachine, metadata: object = {}, value = WORKER) {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return {
    metadata: {
      name,
      labels: { 'cluster.x-k8s.io/cluster-name': 'prod-a' },
      ownerReferences: [
        { apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2', kind: 'KubeadmConfig', name, uid: configUid },
      ],
      ...metadata,
    },
    type: 'cluster.x-k8s.io/secret',
    data: { value: base64(value), format: base64('cloud-config') },
  };
}
