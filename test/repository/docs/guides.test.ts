import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { CATALOGUE } from '@machineadm/failures/catalogue.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const guides = globSync('docs/{tutorials,how-to}/*.md', { cwd: ROOT }).filter((path) => !path.endsWith('README.md'));

describe('tutorials and how-to guides', () => {
  test('name their time and what a reader needs, right below the title', () => {
    assert.ok(guides.length >= 16);
    for (const path of guides) {
      assert.match(read(path), /^# .+\n\n\*\*Time\*\*: .+\. \*\*You need\*\*: .+/, path);
    }
  });

  test('are all in the list of their folder', () => {
    for (const path of guides) {
      const [folder = '', name = ''] = path.split(/\/(?=[^/]+$)/);
      assert.ok(read(join(folder, 'README.md')).includes(`(${name})`), path);
    }
  });

  test('say where the document is saved that their commands read', () => {
    for (const path of guides) {
      const [prose = '', commands = ''] = [
        read(path).replace(/^```[\s\S]*?^```$/gm, ''),
        [...read(path).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block).join('\n'),
      ];
      if (!/^kind: MachineBootstrap$/m.test(read(path))) continue;
      for (const [, file = ''] of commands.matchAll(/machineadm (?:provision|prepare|wrap|validate)\b.*? -f (\S+)/g)) {
        const isWritten = commands.includes(`> ${file} `) || commands.includes(`> ${file}\n`);
        assert.ok(isWritten || prose.includes(`\`${file}\``) || file.startsWith('documents/'), `${path}: ${file}`);
      }
    }
  });

  test('read the credentials of the administrator as root', () => {
    for (const path of guides) {
      for (const line of read(path)
        .split('\n')
        .filter((one) => one.includes('/etc/kubernetes/admin.conf') && !/Path: |hostPath: /.test(one)))
        assert.match(line, /\bsudo\b/, `${path}: ${line}`);
    }
  });

  test('carry the images that the pod network of their version names', () => {
    const text = read('docs/how-to/air-gap.md');
    const [, version = ''] = /flannel\/releases\/download\/(v[\d.]+)\/kube-flannel\.yml/.exec(text) ?? [];
    const images = [...text.matchAll(/ghcr\.io\/flannel-io\/flannel:(\S+)/g)].map(([, tag]) => tag);
    assert.deepEqual(images, [version, version]);
  });
});

test('the symptoms of a failed join have the reason that diagnose gives', () => {
  const section = read('docs/troubleshooting.md').split('## The join fails')[1]?.split('\n## ')[0] ?? '';
  const rows = [...section.matchAll(/^\| (\*.+?\*) \| (`.+?`) \|/gm)];
  assert.equal(rows.length, 7);
  for (const [, symptoms = '', reasons = ''] of rows) {
    const wanted = [...reasons.matchAll(/`(\w+)`/g)].map(([, reason = '']) => reason);
    for (const [, symptom = ''] of symptoms.matchAll(/\*([^*]+)\*/g)) {
      const parts = symptom.split('…').map((part) => part.trim());
      const entries = CATALOGUE.filter(
        ({ source, kind, example, reason }) =>
          source === 'kubeadm' &&
          kind === 'cause' &&
          wanted.includes(reason) &&
          parts.every((part) => example.includes(part)),
      );
      assert.ok(entries.length > 0, `${symptom}: ${wanted.join(', ')}`);
    }
  }
});

test('reasons in guides and in the troubleshooting page exist', () => {
  for (const path of [...guides, 'docs/troubleshooting.md']) {
    // Names of two words or more in the first two columns of a table; kinds and roles are no reasons.
    const cells = read(path)
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .flatMap((line) => line.split('|').slice(1, 3));
    const names = cells.flatMap((cell) =>
      [...cell.matchAll(/`([A-Z][a-z]+(?:[A-Z]+[a-z]*)+)`/g)].map(([, name = '']) => name),
    );
    const others = new Set(['KubeletHealthy', 'NodeRegistered', 'NodeReady', 'ImagePullBackOff']);
    assert.deepEqual(
      names.filter((name) => !Object.hasOwn(REASONS, name) && !others.has(name)),
      [],
      path,
    );
  }
});
