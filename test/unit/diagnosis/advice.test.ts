import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { CATALOGUE } from '@machineadm/failures/catalogue.ts';
import type { Verdict } from '@machineadm/failures/verdict.ts';
import { forWindows } from '@machineadm/failures/windows.ts';
import { formatVerdict } from '../../../src/commands/diagnose/run.ts';

/** An act that may destroy what is needed, and what must stand before it: how to find out that it is not. */
interface Rule {
  readonly what: string;
  readonly act: RegExp;
  readonly guard: RegExp;
}

const RULES: readonly Rule[] = [
  {
    what: 'a reset',
    act: /\b(?:kubeadm|machineadm) reset\b(?! --dry-run)/,
    guard: /systemctl is-active kubelet|reset --dry-run|no node that works/,
  },
  { what: 'the removal of a member of etcd', act: /member remove\b/, guard: /member list/ },
  { what: 'the deletion of a Node', act: /delete node\b/, guard: /get node/ },
  {
    what: 'the removal of a file',
    act: /\b(?:[Rr]emove|[Dd]elete|[Ee]mpty) (?:it|its|them|the|that|this|both|\/)\b.{0,40}\b(?:files?|certificates?|keys?|director(?:y|ies)|CA|data)\b|\brm -/,
    guard: /^$/,
  },
  {
    what: 'a file that is moved away',
    act: /`(?:mv|Rename-Item) /,
    guard: /systemctl is-active kubelet|ss -ltnp|check-expiration/,
  },
  {
    what: 'a restart of containerd',
    act: /\brestart(?: containerd| it)\b/,
    guard: /\brestart containerd \(pods keep running/,
  },
  { what: 'a reboot', act: /(?:\band|\bthen|^Reboot|,) ?reboot\b|\bboot the machine\b/i, guard: /./ },
  { what: 'maintenance of etcd', act: /\bdefrag|\balarm disarm/, guard: /snapshot save/ },
  { what: 'the renewal of certificates', act: /certs renew/, guard: /check-expiration/ },
];

/** The acts of a text that no guard precedes. */
function unguarded(text: string): readonly string[] {
  return RULES.flatMap(({ what, act, guard }) => {
    const at = text.search(act);
    if (at < 0) return [];
    if (what === 'a reboot') return /kubectl drain/.test(text) ? [] : [what];
    const where = text.search(guard);
    return where >= 0 && where <= at ? [] : [what];
  });
}

describe('advice never destroys what may be needed:', () => {
  test('an act without its guard is found', () => {
    for (const text of [
      'Run `kubeadm reset -f`, then provision again.',
      'Remove the old member with `etcdctl member remove`.',
      'Remove the named file, then provision again.',
      'Delete its directory, then provision again.',
      'Run `kubectl delete node NAME`.',
      'Correct the file and restart containerd.',
      'Set the option and reboot.',
      'Move it away: `mv FILE FILE.old`.',
    ]) {
      assert.equal(unguarded(text).length, 1, text);
    }
  });

  for (const { id, remedy, says = '' } of CATALOGUE) {
    test(`the remedy of ${id}`, () => {
      assert.deepEqual(unguarded(remedy), [], remedy);
      assert.deepEqual(unguarded(says), [], says);
    });
  }

  test('the remedies of all reasons', () => {
    const found = Object.entries(REASONS).flatMap(([reason, { fix }]) =>
      unguarded(fix ?? '')
        .filter((what) => ['a reset', 'the removal of a member of etcd', 'the deletion of a Node'].includes(what))
        .map((what) => `${reason}: ${what}`),
    );
    assert.deepEqual(found, []);
  });

  test('what diagnose prints before another attempt', () => {
    const verdict: Verdict = {
      ...{ outcome: 'failure', reason: 'Unknown', summary: 'x', retryable: false, cleanup: 'none', phase: '' },
      ...{ evidence: [], causes: [], symptoms: [], remedy: 'y', confidence: 0 },
    };
    for (const cleanup of ['reset', 'reset+member'] as const) {
      const [line = ''] = formatVerdict({ ...verdict, cleanup })
        .split('\n')
        .filter((text) => text.startsWith('Before another attempt: '));
      assert.match(line, /reset/);
      assert.deepEqual(unguarded(line), []);
    }
  });

  test('no source, message or page forces a reset of kubeadm', () => {
    const root = join(import.meta.dirname, '../../..');
    const files = globSync(
      ['packages/*/src/**/*.ts', 'src/{cli,commands}/**/*.ts', 'src/diagnosis/**/*.ts', 'docs/*.md', 'README.md'],
      { cwd: root },
    );
    const found = files.filter((file) => /kubeadm reset (?:-f|--force)/.test(readFileSync(join(root, file), 'utf8')));
    assert.deepEqual(found, []);
  });

  test('the pages about failures name a guard in the same section', () => {
    const found = ['diagnosis.md', 'faults.md'].flatMap((page) => {
      const text = readFileSync(join(import.meta.dirname, '../../../docs', page), 'utf8');
      return text
        .split(/^#+ /m)
        .filter((section) => /`[^`\n]*(?:kubeadm reset|member remove|delete node|rm -rf)[^`\n]*`/.test(section))
        .filter((section) => !/systemctl is-active kubelet|member list|get node/.test(section))
        .map((section) => `${page}: ${section.slice(0, 60)}`);
    });
    assert.deepEqual(found, []);
  });
});

describe('the remedies of a Windows machine', () => {
  test('name no command of Linux', () => {
    for (const { id, remedy } of CATALOGUE) {
      if (/SELinux|fuser|\bapt\b|sysctl|10-kubeadm\.conf|cgroup|kubepods|crictl/.test(remedy)) continue;
      assert.doesNotMatch(forWindows(remedy), /`(?:systemctl|journalctl|ss -|nft|iptables|mv |curl -)/, id);
    }
  });
});
