import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { convert, DROPPED } from '@machineadm/convert/index.ts';
import type { PathSegment } from '@machineadm/document/diagnostics/index.ts';
import { parse, parseAllDocuments, stringify } from 'yaml';
import {
  converting,
  type Followed,
  fateOf,
  isMap,
  leavesOf,
  mapsOf,
  outcomeOf,
  placeBelow,
  withValue,
} from '../../support/conservation.ts';
import { FOLLOWED } from '../../support/conservation-inputs.ts';
import { needs } from '../../support/needs.ts';
import fc from '../../support/property.ts';

/**
 * Conservation: every scalar of an input is written to the document, reported, or on the list of those that may be left
 * out (`DROPPED`).
 */
describe('an input that says all that its kind can', () => {
  for (const input of FOLLOWED) {
    test(`${input.name}: is converted without an error`, async () => {
      assert.deepEqual(errorsOf(await converting(input, input.tree)), []);
    });

    test(`${input.name}: an unknown field in any of its maps is written or reported`, async () => {
      const paths = mapsOf(input.tree)
        .filter((path) => isOfInput(input, path))
        .map((path) => [...path, 'unknownField']);
      const everywhere = paths.reduce((tree, path) => withValue(tree, path, 'marker-7k2'), input.tree);
      const together = await converting(input, everywhere);
      const lost: string[] = [];
      for (const path of paths) {
        const place = input.place(path);
        if (fateOf(place, 'marker-7k2', { ...together, documents: [] }) !== 'lost') continue;
        // Where any name is known it is written; but not while another is a mistake.
        const alone = await converting(input, withValue(input.tree, path, 'marker-7k2'));
        // Validation knows the fields of the kubelet's configuration: it refuses the document, and names the field.
        if (errorsOf(alone).some(({ code, message }) => code === 'DocumentRefused' && /unknownField/.test(message)))
          continue;
        if (fateOf(place, 'marker-7k2', alone) === 'lost') lost.push(place);
      }
      assert.deepEqual(lost, []);
    });

    test(`${input.name}: no scalar can change without a change in what comes out`, async () => {
      const before = await converting(input, input.tree);
      const known = new Set([...before.decisions, ...before.dropped].map(({ at }) => at));
      const lost: string[] = [];
      for (const { path, value } of leavesOf(input.tree)) {
        const place = input.place(path);
        if (known.has(place)) continue;
        for (const other of othersThan(value)) {
          const after = await converting(input, withValue(input.tree, path, other));
          // An error says only that the value was looked at.
          if (errorsOf(after).length > 0) continue;
          if (outcomeOf(after) === outcomeOf(before)) lost.push(place);
          break;
        }
      }
      assert.deepEqual(lost, []);
    });
  }

  test('every reason to omit a field is used', async () => {
    const used = new Set<string>();
    for (const input of FOLLOWED) {
      for (const role of ['InitControlPlane', undefined] as const) {
        const options =
          role === undefined || !input.name.startsWith('Kubeadm') ? input.options : { ...input.options, role };
        const { dropped } = await converting({ ...input, options }, input.tree);
        for (const { reason } of dropped) used.add(reason);
      }
    }
    assert.deepEqual([...used].sort(), Object.keys(DROPPED).sort());
  });
});

/** Parts that no API knows, in every form: nested lists, empty ones, numbers, what YAML takes for something else. */
const unknownParts = fc.letrec<{ part: unknown }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.nat({ max: 999 }).map((number) => `marker-${number}`),
    fc.constantFrom<unknown>(true, 1.5, 0, 'yes', '2001-12-14', '0x1F'),
    fc.array(tie('part'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('x', 'name', 'kind', 'a.b', 'c d'), tie('part'), { maxKeys: 3 }),
  ),
})).part;

/** Where a new key says something by itself: the name of an argument, of a disk, a limit of the kubelet. */
const TAKES_ANY_KEY = /(?:[eE]xtraArgs|featureGates|disk_setup|KubeletConfiguration.*|KubeProxyConfiguration.*)$/;

describe('whatever else an input says', () => {
  for (const input of FOLLOWED) {
    test(`${input.name}: unknown parts anywhere are reported, scalar by scalar`, async () => {
      const maps = mapsOf(input.tree).filter(
        (path) => isOfInput(input, path) && !TAKES_ANY_KEY.test(input.place(path)),
      );
      const additions = fc.array(fc.tuple(fc.constantFrom(...maps), unknownParts), { minLength: 1, maxLength: 4 });
      await fc.assert(
        fc.asyncProperty(additions, async (added) => {
          let tree = input.tree;
          const expected: string[] = [];
          for (const [index, [path, part]] of added.entries()) {
            const at = [...path, `unknown${index}`];
            tree = withValue(tree, at, part);
            for (const leaf of leavesOf(part)) expected.push(input.place([...at, ...leaf.path]));
          }
          const { decisions } = await converting(input, tree);
          const places = new Set(decisions.map(({ at }) => at));
          const isReported = (place: string): boolean =>
            places.has(place) ||
            decisions.some(({ at, code }) => code === 'ControllerField' && place.startsWith(`${at}.`));
          assert.deepEqual(
            expected.filter((place) => !isReported(place) && !/: (?:metadata|status)\b/.test(place)),
            [],
          );
        }),
        { numRuns: 25 },
      );
    });
  }
});

describe('input that the converter used to lose', () => {
  const at = (conversion: Awaited<ReturnType<typeof converting>>, code: string): readonly string[] =>
    conversion.decisions.filter((one) => one.code === code).map((one) => one.at);
  const [, , init, join, ignition] = FOLLOWED;
  assert.ok(init && join && ignition);

  test('dryRun and timeouts.upgradeManifests are decisions', async () => {
    assert.deepEqual(at(await converting(init, init.tree), 'FieldWithoutCounterpart'), [
      'input: /run/kubeadm/kubeadm.yaml InitConfiguration: dryRun',
      'input: /run/kubeadm/kubeadm.yaml InitConfiguration: timeouts.upgradeManifests',
    ]);
  });

  test('the current context of a discovery kubeconfig counts, and the others are reported', async () => {
    const path = ['embedded', '/etc/kubernetes/discovery.conf'];
    const cluster = (name: string) => ({ name, cluster: { server: `https://${name}.example:6443` } });
    const kubeconfig = {
      'current-context': 'b',
      contexts: [
        { name: 'a', context: { cluster: 'a', user: 'a' } },
        { name: 'b', context: { cluster: 'b', user: 'b', namespace: 'own' } },
      ],
      clusters: [cluster('a'), cluster('b')],
      users: [
        { name: 'a', user: { token: 'token-of-a' } },
        { name: 'b', user: { token: 'token-of-b', tokenFile: '/t' } },
      ],
    };
    const conversion = await converting(join, withValue(join.tree, path, kubeconfig));
    const document = parse(conversion.documents[0]?.yaml ?? '');
    const { file } = document.kubernetes.join.discovery;
    assert.equal(file.kubeconfig.server, 'https://b.example:6443');
    assert.equal(document.secrets[file.kubeconfig.user.token.secret].value, 'token-of-b');
    assert.deepEqual(
      at(conversion, 'UnknownField').map((place) => place.replace(/^.*discovery\.conf: /, '')),
      [
        'contexts[0].context.cluster',
        'contexts[0].context.user',
        'contexts[1].context.namespace',
        'clusters[0].cluster.server',
        'users[0].user.token',
        'users[1].user.tokenFile',
      ],
    );
  });

  test('a certificate of another owner, or without its key pair, stays a file', async () => {
    const files = [
      { path: '/etc/kubernetes/pki/ca.crt', owner: 'etcd:etcd', content: 'own\n' },
      { path: '/etc/kubernetes/pki/front-proxy-ca.key', content: 'lonely\n' },
      { path: '/run/kubeadm/kubeadm.yaml', owner: 'root:root' },
    ];
    const { documents } = await converting(init, withValue(init.tree, ['config', 'write_files'], files));
    const { host, kubernetes } = parse(documents[0]?.yaml ?? '');
    assert.deepEqual(host.files, [
      { path: '/etc/kubernetes/pki/ca.crt', content: 'own\n', mode: '0644', owner: 'etcd:etcd' },
      { path: '/etc/kubernetes/pki/front-proxy-ca.key', content: 'lonely\n', mode: '0644', owner: 'root:root' },
    ]);
    assert.equal(kubernetes.pki, undefined);
  });

  test('a mount unit that says more than a mount stays a unit', async () => {
    const unit = ['config', 'systemd', 'units', 2];
    for (const [more, why] of [
      [{ contents: '[Mount]\nWhat=/dev/sdb1\nWhere=/data\nTimeoutSec=5\n' }, '[Mount] TimeoutSec'],
      [{ enabled: false }, 'it is not simply one mount that is enabled'],
      [{ dropins: [{ name: 'a.conf', contents: '[Unit]\nAfter=x\n' }] }, 'it is not simply one mount that is enabled'],
    ] as const) {
      const tree = Object.entries(more).reduce(
        (all, [key, value]) => withValue(all, [...unit, key], value),
        ignition.tree,
      );
      const conversion = await converting(ignition, tree);
      const { host } = parse(conversion.documents[0]?.yaml ?? '');
      assert.equal(host.storage.mounts, undefined);
      assert.ok(host.files.some(({ path }: { path: string }) => path === '/etc/systemd/system/data.mount'));
      assert.ok(host.services.some(({ name }: { name: string }) => name === 'data.mount'));
      assert.deepEqual(
        conversion.decisions.flatMap(({ code, message }) => (code === 'MountUnitKept' ? [message] : [])),
        [`data.mount: ${why}`],
      );
    }
  });

  test('files of the provider with other lines stay files', async () => {
    for (const [index, path, line] of [
      [2, '/etc/sudoers.d/core', 'Defaults:core !requiretty'],
      [3, '/etc/ntp.conf', 'pool other.example'],
    ] as const) {
      const source = ['config', 'storage', 'files', index, 'contents', 'source'];
      const tree = withValue(ignition.tree, source, `data:,${encodeURIComponent(`${line}\n`)}`);
      const { documents } = await converting(ignition, tree);
      const { host, secrets } = parse(documents[0]?.yaml ?? '');
      const { content, contentFrom } = host.files.find((one: { path: string }) => one.path === path);
      assert.equal(content ?? secrets[contentFrom.secret].value, `${line}\n`);
    }
  });

  test('another path of the sentinel becomes that of the document', async () => {
    const command = 'kubeadm init --config /run/kubeadm/kubeadm.yaml && mkdir -p /srv && echo success > /srv/done';
    const { documents } = await converting(init, withValue(init.tree, ['config', 'runcmd'], [command]));
    assert.deepEqual(parse(documents[0]?.yaml ?? '').reporting, { sentinel: { path: '/srv/done' } });
  });

  test('a mode without quotes is the number that YAML 1.1 reads', async () => {
    const text = init
      .text(init.tree)
      .replace(/permissions: "0640"\n(\s+)content: \|\n\s+plain/, 'permissions: 0640\n$1content: |\n$1  plain');
    const { documents } = await converting({ ...init, text: () => text }, init.tree);
    const { files } = parse(documents[0]?.yaml ?? '').host;
    assert.equal(files.find(({ path }: { path: string }) => path === '/etc/plain').mode, '0640');
  });

  test('numbers of the kubelet keep every digit', async () => {
    const text = init
      .text(init.tree)
      .replace('maxPods: 250', 'maxPods: 250\n      podPidsLimit: 9223372036854775807\n      kubeAPIBurst: 1.0');
    const { documents } = await converting({ ...init, text: () => text }, init.tree);
    assert.match(documents[0]?.yaml ?? '', /podPidsLimit: 9223372036854775807\n\s+kubeAPIBurst: 1\.0\n/);
  });

  test('a key given twice in user data is a decision', async () => {
    const text = `${init.text(init.tree)}bootcmd: [a]\n`;
    assert.deepEqual(at(await converting({ ...init, text: () => text }, init.tree), 'KeyRepeated'), ['input']);
  });

  test('keys of Secrets that no field refers to are reported', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } };
    const { decisions } = await convert(
      [
        { name: 'data', text: init.text(init.tree) },
        { name: 'secret', text: stringify(secret, { version: '1.1' }) },
      ],
      init.options,
    );
    assert.ok(
      decisions.some(
        ({ code, at: place, message }) => code === 'ObjectIgnored' && place === 'Secret s' && message.includes('a'),
      ),
    );
  });

  test('a join with other configurations in its file says so', async () => {
    const name = `/run/kubeadm/kubeadm-join-config.yaml KubeletConfiguration`;
    const kubelet = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', maxPods: 250 };
    const conversion = await converting(join, withValue(join.tree, ['embedded', name], kubelet));
    assert.deepEqual(at(conversion, 'NotForThisRole'), [`input: ${name}`]);
    assert.ok(!conversion.documents[0]?.yaml.includes('maxPods'));
  });
});

/** A directory of published templates of cluster-api providers, which are not ours to keep here. */
const TEMPLATES = process.env.MACHINEADM_CAPI_TEMPLATES;

describe('published templates', () => {
  test('keep every text', {
    skip: needs('MACHINEADM_CAPI_TEMPLATES=DIRECTORY'),
  }, async () => {
    const directory = TEMPLATES ?? '';
    const lost: string[] = [];
    let converted = 0;
    for (const name of readdirSync(directory).filter((one) => one.endsWith('.yaml'))) {
      const text = readFileSync(join(directory, name), 'utf8')
        // What clusterctl puts in the place of its variables.
        .replace(/\$\{[A-Z0-9_]+(?::?[-=]"?([^}"]*)"?)?\}/g, (_whole, value?: string) => value || 'v7');
      for (const document of parseAllDocuments(text)) {
        const object: unknown = document.errors.length > 0 ? undefined : document.toJS();
        if (!isMap(object) || !/^Kubeadm(?:Config|ControlPlane)/.test(String(object.kind))) continue;
        // Of these commands and a text of units become something else: see the tests of Ignition.
        if (/^ {4,}format: ignition$/m.test(stringify(object))) continue;
        const metadata = isMap(object.metadata) ? object.metadata : {};
        const namespace = metadata.namespace === undefined ? '' : `${metadata.namespace}/`;
        const input: Followed = {
          name: String(object.kind),
          tree: object,
          text: (tree) => stringify(tree, { version: '1.1' }),
          place: placeBelow(`${object.kind} ${namespace}${metadata.name}`),
          options: { kubernetesVersion: 'v1.35.2', endpoint: 'api.example:6443' },
        };
        const conversion = await converting(input, object);
        if (conversion.documents.length === 0) continue;
        converted++;
        for (const { path, value } of leavesOf(object)) {
          const place = input.place(path);
          // A variable, a device and a file without its last line break are written in other words.
          const words = String(value)
            .trim()
            .split(/\{\{.*?\}\}|^LABEL=|^ephemeral0(?:\.1)?$|\r/);
          const isLost = words.some((word) => word !== '' && fateOf(place, word, conversion) === 'lost');
          if (isLost) lost.push(`${name} ${place}`);
        }
      }
    }
    assert.deepEqual(lost, []);
    assert.ok(converted > 100, `${converted} objects were converted`);
  });
});

function errorsOf(conversion: Awaited<ReturnType<typeof converting>>) {
  return conversion.decisions.filter(({ severity }) => severity === 'error');
}

/** Of user data the two halves that the tests keep apart are no maps of the input. */
function isOfInput({ name }: Followed, path: readonly PathSegment[]): boolean {
  return name.startsWith('Kubeadm') || path[0] === 'config' || path.length > 1;
}

/** Other values of the same kind. */
function othersThan(value: unknown): readonly unknown[] {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1];
  const text = String(value);
  const swapped = text.replace(/[a-z]/i, (letter) => (letter === 'q' ? 'r' : 'q'));
  return swapped === text ? [`${text}x`] : [`${text}x`, swapped];
}
