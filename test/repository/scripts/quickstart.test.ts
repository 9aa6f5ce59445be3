import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { loadDocument, type Model } from '@machineadm/document/index.ts';
import { stringify } from 'yaml';
import { hostDocument, hostScript, LIGHT_WORK, longDocument } from '../../../scripts/bench/documents.ts';
import { officialRelease } from '../../../scripts/lab/releases/official.ts';
import { machineSource, sharedSources, sitesOf } from '../../../scripts/quickstart/documents.ts';

const quickstart = resolve(import.meta.dirname, '../../../scripts/quickstart');

async function load(name: string, bytes: Uint8Array): Promise<Model> {
  return await merged([{ name, bytes }]);
}

async function merged(sources: Parameters<typeof loadDocument>[0]): Promise<Model> {
  const loaded = await loadDocument(sources, { agentVersion: '0.1.0' });
  assert.deepEqual(loaded.ok ? [] : loaded.problems, []);
  assert.ok(loaded.ok);
  return loaded.document.model;
}

describe('the documents of the quick start', () => {
  for (const file of ['light.yaml', 'failing.yaml']) {
    test(`${file} is valid`, async () => {
      await load(file, readFileSync(join(quickstart, file)));
    });
  }

  for (const file of ['light.yaml', 'failing.yaml']) {
    test(`${file} changes nothing outside of the throw-away copy`, async () => {
      const model = await load(file, readFileSync(join(quickstart, file)));
      assert.equal(model.host.swap, 'Unmanaged', 'swap is of the whole machine');
      const shared = model.host.sysctl.filter(({ key }) => !key.startsWith('net/'));
      assert.deepEqual(shared, [], 'only net.* belongs to a network namespace');
      // overlay is in the kernel already: the copy is made with it.
      const modules = model.host.kernelModules.filter((name) => name !== 'overlay');
      assert.deepEqual(modules, [], 'a kernel module is loaded for the whole machine');
      assert.equal(model.kubernetes, undefined);
    });
  }
});

describe('the machines of the quick start in the lab', () => {
  const addressOf = (index: number): string => `10.99.0.${index + 11}`;
  const sites = sitesOf({ controlPlanes: 1, workers: 2 }, addressOf);
  const caCertHash = `sha256:${'0'.repeat(64)}`;
  const debian = { release: officialRelease('v1.20.2'), official: false };
  const model = async (index: number, all = sites, built = debian): Promise<Model> => {
    const site = all[index];
    assert.ok(site !== undefined);
    const files = ['10-node.yaml', index === 0 ? '20-control-plane.yaml' : '20-worker.yaml'];
    const joining = { token: 'abcdef.0123456789abcdef', ...(index === 0 ? {} : { caCertHash }) };
    const machine = stringify(machineSource(site, all, built, joining));
    return await merged([
      ...files.map((name) => ({ name, bytes: readFileSync(join(quickstart, 'lab', name)) })),
      { name: '30-machine.yaml', bytes: new TextEncoder().encode(machine) },
    ]);
  };

  test('have names and subnets of their own, the control plane first', () => {
    assert.deepEqual(
      sites.map(({ name, podSubnet }) => [name, podSubnet]),
      [
        ['quickstart', '10.244.0.0/24'],
        ['qs-worker1', '10.244.1.0/24'],
        ['qs-worker2', '10.244.2.0/24'],
      ],
    );
  });

  test('each has a valid document, wants to be Ready, and knows the way to the pods of the others', async () => {
    for (const [index, site] of sites.entries()) {
      const { host, kubernetes } = await model(index);
      assert.equal(kubernetes?.role, index === 0 ? 'InitControlPlane' : 'Worker');
      assert.equal(kubernetes?.ready.require, 'NodeReady');
      const content = host.network?.files.map((file) => file.content).join('') ?? '';
      for (const other of sites.filter((candidate) => candidate !== site)) {
        assert.match(content, new RegExp(`Destination=${other.podSubnet}\\nGateway=${other.ip}\\n`));
      }
      assert.doesNotMatch(content, new RegExp(`Destination=${site.podSubnet}`));
    }
  });

  describe('with three control planes', () => {
    const ha = sitesOf({ controlPlanes: 3, workers: 1 }, addressOf);
    const certificateKey = '0123456789abcdef'.repeat(4);
    const load = async (index: number): Promise<Model> => {
      const site = ha[index];
      assert.ok(site !== undefined);
      const joining = { token: 'abcdef.0123456789abcdef', certificateKey, ...(index < 2 ? {} : { caCertHash }) };
      const files = sharedSources(site, index < 2);
      const machine = stringify(machineSource(site, ha, debian, joining));
      return await merged([
        ...files.map((name) => ({ name, bytes: readFileSync(join(quickstart, 'lab', name)) })),
        { name: '30-machine.yaml', bytes: new TextEncoder().encode(machine) },
      ]);
    };

    test('the load balancer is there before the first of them, and the workers come last', () => {
      assert.deepEqual(
        ha.map(({ name, ip, role }) => [name, ip, role]),
        [
          ['qs-balancer', '10.99.0.11', 'balancer'],
          ['quickstart', '10.99.0.12', 'control-plane'],
          ['qs-control2', '10.99.0.13', 'control-plane'],
          ['qs-control3', '10.99.0.14', 'control-plane'],
          ['qs-worker1', '10.99.0.15', 'worker'],
        ],
      );
    });

    test('the load balancer is no node, and knows every API server', async () => {
      const { kubernetes, host } = await load(0);
      assert.equal(kubernetes, undefined);
      const configuration = host.files.find(({ path }) => path === '/etc/haproxy/api.cfg');
      const content =
        configuration?.content?.kind === 'inline' ? Buffer.from(configuration.content.bytes).toString() : '';
      for (const server of ['quickstart 10.99.0.12', 'qs-control2 10.99.0.13', 'qs-control3 10.99.0.14']) {
        assert.ok(content.includes(`server ${server}:6443`), server);
      }
      assert.doesNotMatch(content, /qs-worker1/);
    });

    test('the first uploads its certificates, the others join with the key, all at the address of the load balancer', async () => {
      const [first, second, third, worker] = [await load(1), await load(2), await load(3), await load(4)];
      assert.equal(first.kubernetes?.role, 'InitControlPlane');
      assert.equal(first.kubernetes?.cluster.controlPlaneEndpoint, '10.99.0.11:6443');
      for (const { kubernetes } of [second, third]) assert.equal(kubernetes?.role, 'JoinControlPlane');
      assert.equal(worker.kubernetes?.role, 'Worker');
      for (const { kubernetes } of [second, third, worker]) {
        const discovery = kubernetes?.join?.discovery;
        assert.equal(discovery !== undefined && 'endpoint' in discovery ? discovery.endpoint : '', '10.99.0.11:6443');
      }
      for (const { kubernetes } of [first, second, third]) assert.ok(kubernetes?.controlPlane.certificateKey);
      assert.equal(worker.kubernetes?.controlPlane.certificateKey, undefined, 'a worker gets no key');
    });
  });

  test('an official release comes with DNS, and its images are those of its kubeadm', async () => {
    const built = { release: officialRelease('v1.37.0'), official: true };
    for (const index of sites.keys()) {
      const { kubernetes, images, containerd } = await model(index, sites, built);
      assert.equal(kubernetes?.version, 'v1.37.0');
      assert.equal(containerd?.sandboxImage, 'registry.k8s.io/pause:3.10.2');
      assert.ok(images.required.includes('registry.k8s.io/kube-proxy:v1.37.0'));
      assert.equal(kubernetes?.node.kubelet.config.failCgroupV1, false);
    }
    assert.equal((await model(0, sites, built)).kubernetes?.addons.dns.enabled, true);
    assert.equal((await model(0)).kubernetes?.addons.dns.enabled, false, "Debian's build has no CoreDNS");
  });

  test('a control plane alone takes pods; one with workers keeps its taint', async () => {
    assert.deepEqual((await model(0, sites.slice(0, 1))).kubernetes?.node.taints, []);
    assert.equal((await model(0)).kubernetes?.node.taints, undefined);
  });
});

describe('the documents of the bench', () => {
  test('are valid; the long one has about 200 lines', async () => {
    await load('long.yaml', new TextEncoder().encode(longDocument()));
    const lines = longDocument().split('\n').length - 1;
    assert.ok(lines >= 190 && lines <= 210, `${lines} lines`);
  });

  test('describe the same work as the shell script they are compared with', async () => {
    const model = await load('host.yaml', new TextEncoder().encode(hostDocument(LIGHT_WORK)));
    const script = hostScript(LIGHT_WORK);
    assert.equal(model.host.files.length, LIGHT_WORK.files);
    for (const { path } of model.host.files) assert.ok(script.includes(`> ${path}\n`), path);
    for (const { key, value } of model.host.sysctl) assert.ok(script.includes(`echo ${value} > /proc/sys/${key}`), key);
  });
});
