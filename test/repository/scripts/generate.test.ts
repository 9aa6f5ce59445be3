import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import type { RunStatus } from '@machineadm/status/status.ts';
import { Command, Option } from 'commander';
import { manPage } from '../../../scripts/generate/man-page.ts';
import { statusSchema } from '../../../scripts/generate/status-schema.ts';
import { generatedFiles } from '../../../scripts/generate.ts';
import { CHECKOUT, git } from '../../support/checkout.ts';
import { needs } from '../../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

describe('the generated files', () => {
  const files = generatedFiles(ROOT);

  test('are those the sources make (else: npm run generate)', () => {
    const outdated = [...files].filter(([path, text]) => readFileSync(resolve(ROOT, path), 'utf8') !== text);
    assert.deepEqual(
      outdated.map(([path]) => path),
      [],
    );
  });

  test('are marked as generated, and no others', { skip: needs('git', CHECKOUT) }, () => {
    const partly = ['contract/CONTRACT.md', 'docs/plan-and-apply.md'];
    const generated = [...files.keys(), 'docs/security-tests.md', 'package-lock.json', 'site/package-lock.json'];
    const attributes = git('check-attr', 'linguist-generated', '--', ...git('ls-files').trim().split('\n'));
    const marked = [...attributes.matchAll(/^(.+): linguist-generated: set$/gm)].map(([, path]) => path ?? '');
    assert.deepEqual(
      generated.filter((path) => !partly.includes(path) && !marked.includes(path)),
      [],
      'not marked',
    );
    assert.deepEqual(
      marked.filter((path) => !generated.includes(path)),
      [],
      'marked, but not generated',
    );
  });
});

describe('the status schema', () => {
  const failed: RunStatus = {
    apiVersion: 'machineadm.dev/status/v1',
    kind: 'BootstrapStatus',
    command: 'provision',
    runId: '0190d3e6-0000-7000-8000-000000000000',
    agent: { version: '0.1.0' },
    machine: { name: 'prod-a-0', cluster: 'prod-a' },
    host: { machineId: 'm', bootId: 'b', hostname: 'node-1' },
    document: { sha256: '0'.repeat(64) },
    attempt: 1,
    phase: 'Concluded',
    step: 'sysctl',
    startedAt: '2026-11-20T18:00:00.000Z',
    updatedAt: '2026-11-20T18:00:01.000Z',
    process: { pid: 12, startTicks: 3456 },
    steps: [{ id: 'sysctl', state: 'Failed', changes: [], durationMs: 12 }],
    warnings: [],
    conditions: [],
    timeline: [{ name: 'kernel', sinceBootMs: 0, durationMs: 800 }],
    outcome: 'Failed',
    exitCode: 10,
    failure: { reason: 'SysctlUnknown', summary: 's', evidence: [], remedy: 'r', retryable: false, step: 'sysctl' },
  };

  test('accepts a status', () => {
    assert.deepEqual(statusSchema.parse(failed), failed);
  });

  test('accepts properties and reasons that a later agent adds', () => {
    const later = { ...failed, colour: 'blue', failure: { ...failed.failure, reason: 'InventedLater' } };
    assert.deepEqual(statusSchema.parse(later), later);
  });

  test('refuses a phase that does not exist and a missing process', () => {
    const { process: _, ...rest } = failed;
    const refused = statusSchema.safeParse({ ...rest, phase: 'Dreaming' });
    assert.deepEqual(refused.error?.issues.map((issue) => issue.path.join('.')).sort(), ['phase', 'process']);
  });
});

describe('the manual page', () => {
  const program = new Command('machineadm').description('Turns a machine into a node. And more.');
  program.option('-v, --verbose', 'say more');
  const report = program.command('report').description('talk to the sinks');
  report.command('flush').description('.dots and back\\slashes').argument('<file...>', 'the spool');
  program
    .command('plan')
    .description('show what would change')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['text', 'json']).default('text'))
    .addOption(new Option('--secret-option', 'hidden').hideHelp());
  const page = manPage(program, '1.2.3');

  test('has the sections a manual page has, each command and the exit codes', () => {
    assert.match(page, /^\.TH MACHINEADM 1 "" "machineadm 1\.2\.3"/m);
    assert.match(page, /^machineadm \\- Turns a machine into a node$/m);
    assert.match(page, /^\.SS report flush <file\.\.\.>$/m);
    assert.match(page, /^\.B \\-o, \\-\\-output <format>\nhow to print\. One of text, json\. Default: text\.$/m);
    assert.match(page, /^\.B 16\na reboot is required/m);
  });

  test('leaves out hidden options', () => {
    assert.doesNotMatch(page, /secret.*option/);
  });

  test('quotes what roff would take for a command', () => {
    assert.match(page, /^\\&\.dots and back\\eslashes$/m);
  });
});
