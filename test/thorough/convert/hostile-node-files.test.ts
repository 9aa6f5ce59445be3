import { test } from 'node:test';
import { CONTROL_PLANE, converted } from '../../support/node-files.ts';

test('files of a node that say something else are an error or a decision, and no exception', async () => {
  const texts = ['[]', '1', '- a', 'a: &a [*a]', 'clusters: 7', '{', 'spec: {containers: {}}', '\u0000', '--'];
  for (const path of Object.keys(CONTROL_PLANE)) {
    if (!/kubelet|manifests|pki/.test(path)) continue;
    for (const text of texts) await converted({ ...CONTROL_PLANE, [path]: text });
  }
});
