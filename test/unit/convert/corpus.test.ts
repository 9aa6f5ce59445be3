import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import { TEMPLATES_ABSENT, template, templateNames } from '../../support/capi-templates.ts';

/** Templates whose arguments only kubelets of other versions take. */
const VERSIONS: readonly (readonly [RegExp, string])[] = [
  [/multitenancy-clusterclass|efs-support|capm3--examples__controlplane/, 'v1.26.15'],
  // It asks for a feature gate of a version that is not released.
  [/ci-version-dra/, ''],
];

describe('published templates of Cluster API and its providers', { skip: TEMPLATES_ABSENT }, () => {
  for (const name of templateNames()) {
    const version = VERSIONS.find(([pattern]) => pattern.test(name))?.[1] ?? 'v1.35.2';
    test(`${name} converts`, { skip: version === '' ? 'a feature gate of no release' : false }, async () => {
      const { documents, decisions } = await convert([{ name, text: template(name, version) }], {
        kubernetesVersion: version,
      });
      const errors = decisions.filter(({ severity }) => severity === 'error');
      assert.deepEqual(
        errors.map(({ code, at, message }) => `${code} ${at}: ${message}`),
        [],
      );
      assert.ok(documents.length > 0);
      // A worker's template never becomes a control plane.
      for (const { name: machine, role } of documents) {
        if (/-(?:md|mp|pool|worker|workers)(?:-|\d|$)/.test(machine)) assert.equal(role, 'Worker', machine);
      }
    });
  }
});
