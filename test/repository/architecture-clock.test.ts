import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');

/** Unit tests that read the clock of the machine, and why it is not measured how fast the machine is. */
const READ_THE_CLOCK: Readonly<Record<string, string>> = {
  'test/unit/diagnosis/checks/checks.test.ts': 'hands the clock over, to compare it with the date of a real server',
  'test/unit/diagnosis/checks/cluster-info.test.ts': 'the clock is compared with that of a real server',
  'test/unit/kubernetes/control-plane-health.test.ts': 'dates the ends of containers from now',
  'test/unit/kubernetes/kubeadm/disk-obstacles.test.ts': 'certificates that are valid now',
  'test/unit/reporting/remote/webhook.test.ts': 'a real receiver has another time of day',
  'test/unit/reporting/timeline.test.ts': 'judges the clock since boot: it was earlier when this process began',
  'test/unit/features/active-directory/step.test.ts': 'a controller has another time of day',
  'test/thorough/features/api-server.test.ts': 'dates the end of a container from now',
  'test/unit/features/certificate-authorities/certificate-authorities.test.ts': 'certificates that are valid now',
  'test/unit/features/pki/pki.test.ts': 'certificates that are valid now',
  'test/unit/features/windows.test.ts': 'certificates that are valid now',
  'test/unit/translator/provider.test.ts': 'dates the ends of tokens from now',
  'test/unit/translator/service.test.ts': 'certificates that are valid now',
  'test/unit/translator/updates.test.ts': 'dates the ends of containers from now',
};

/** Unit tests that let real time pass. */
const PAUSE: Readonly<Record<string, string>> = {
  'test/unit/cli/lingering.test.ts': 'a real process is to wait for its reader longer than for its connections',
};

describe('the unit tests', () => {
  const own = 'test/repository/architecture-clock.test.ts';
  const texts = globSync('test/{unit,repository,thorough}/**/*.ts', { cwd: root })
    .filter((file) => file !== own)
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
  const matching = (pattern: RegExp): readonly string[] =>
    texts.flatMap(({ file, text }) => (pattern.test(text) ? [file] : [])).sort();

  test('read the clock for data only: time-dependent tests use a fake one (test/support/fake-clock.ts)', () => {
    assert.deepEqual(
      matching(/\b(performance|Date)\.now\b|\bhrtime\b|\bprocess\.uptime\b/),
      Object.keys(READ_THE_CLOCK).sort(),
    );
  });

  test('assert no duration: no reading of the clock is subtracted from another', () => {
    assert.deepEqual(matching(/(performance|Date)\.now\(\) *- *(began|begun|started|start|before|first)\b/i), []);
  });

  test('wait for conditions, never for times (test/support/wait-until.ts)', () => {
    assert.deepEqual(
      matching(/\bsetTimeout\(|\bsetTimeout\b[^;]*from 'node:timers|\bsetInterval\(/),
      Object.keys(PAUSE).sort(),
    );
  });

  test('prepare nothing outside of a suite: the files of a directory share a process, and it would be done for all of them', () => {
    assert.deepEqual(matching(/^(before|after)Each\(/m), []);
  });
});
