import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CATALOGUE, NOISE } from '@machineadm/failures/catalogue.ts';
import { classify, cleanLine, type ObservedLine } from '@machineadm/failures/classify.ts';

/** Lines that entries want to see beside their own. */
const CONFIRMATIONS: readonly ObservedLine[] = [
  {
    source: 'kubelet',
    origin: 'journal of kubelet',
    text: 'I1120 19:25:35.000000     176 server.go:837] Client rotation is on, will bootstrap in background',
  },
  {
    source: 'containerd',
    origin: 'journal of containerd',
    text: 'time="2026-11-22T10:03:11Z" level=info msg="TaskOOM event &TaskOOM{ContainerID:d469e8b6f3cf39a4}"',
  },
  { source: 'unit', origin: 'service manager', text: 'kubelet.service: active (running) for 99 s' },
  {
    source: 'kubeadm',
    origin: 'kubeadm',
    text: 'cannot use "0.0.0.0" as the bind address for the API Server',
  },
  { source: 'kubeadm', origin: 'kubeadm', text: '[kubelet-check] Initial timeout of 40s passed.' },
];

describe('every entry of the catalogue', () => {
  test('has an id of its own', () => {
    const ids = [...CATALOGUE, ...NOISE].map((entry) => entry.id);
    assert.deepEqual(
      ids.filter((id, index) => ids.indexOf(id) !== index),
      [],
    );
  });

  for (const entry of CATALOGUE) {
    test(`${entry.id} matches its example and wins it`, () => {
      assert.match(cleanLine(entry.example), entry.pattern);
      const example: ObservedLine = { source: entry.source, origin: entry.source, text: entry.example };
      const started: ObservedLine = {
        source: 'kubeadm',
        origin: 'kubeadm',
        text: '[kubelet-start] Starting the kubelet',
      };
      const confirmation = CONFIRMATIONS.filter(({ source, text }) =>
        entry.confirmedBy?.some((other) => other.source === source && other.pattern.test(text)),
      );
      const { best } = classify([started, example, ...confirmation]);
      if (entry.kind === 'warning') {
        assert.ok(best === undefined || best.score <= 40, `a warning was taken for a cause: ${best?.entry.id}`);
      } else {
        assert.equal(best?.entry.reason, entry.reason);
      }
    });
  }

  for (const entry of NOISE) test(`${entry.id} matches its example`, () => assert.match(entry.example, entry.pattern));

  // machineadm removes what its own attempts left, and keeps what was there before; kubeadm reset does neither.
  test('names kubeadm reset only where kubeadm ran before machineadm', () => {
    const named = CATALOGUE.filter(({ remedy }) => remedy.includes('kubeadm reset')).map(({ id }) => id);
    assert.deepEqual(named, [
      'preflight-port-10250',
      'preflight-port-in-use',
      'preflight-manifest-exists',
      'preflight-kubelet-conf-exists',
      'preflight-bootstrap-kubelet-conf-exists',
      'preflight-ca-exists',
    ]);
  });

  test('has a priority that fits its kind', () => {
    for (const { id, kind, priority } of CATALOGUE) {
      if (kind === 'cause') assert.ok(priority >= 80, id);
      if (kind === 'generic') assert.ok(priority >= 50 && priority < 80, id);
      if (kind === 'symptom') assert.ok(priority >= 20 && priority < 50, id);
    }
  });

  test('says what to do in a whole sentence', () => {
    for (const { id, remedy } of CATALOGUE) assert.match(remedy, /^[A-Z].*\.$/, id);
  });
});
