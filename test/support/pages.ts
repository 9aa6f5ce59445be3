import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import type { PageContent } from '@machineadm/status/page/content.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { summaryOf } from '@machineadm/status/summary.ts';
import { FAILURE, statusAfter } from '../unit/reporting/runs.ts';

const BASE = {
  agentVersion: '0.1.0',
  madeAt: new Date('2026-11-20T10:05:00Z'),
  titleOf: stepTitle,
};

const TIMELINE: RunStatus['timeline'] = [
  { name: 'kernel', sinceBootMs: 0, durationMs: 2100 },
  { name: 'userspace', sinceBootMs: 2100, durationMs: 9900 },
  { name: 'sysctl', sinceBootMs: 12_040, durationMs: 35 },
  { name: 'containerd', sinceBootMs: 12_100, durationMs: 4200 },
  { name: 'kubeadm', sinceBootMs: 16_400, durationMs: 241_000 },
  { name: 'concluded', sinceBootMs: 257_400, durationMs: 0 },
];

/** A run that failed at its bootstrapper, with something to show in every part of the status. */
export const FAILED: RunStatus = {
  ...statusAfter(
    {
      kind: 'identified',
      subject: {
        machine: { name: 'prod-a-worker-0', namespace: 'fleet', cluster: 'prod-a' },
        documentSha256: 'a'.repeat(64),
        attempt: 2,
        bootstrapped: false,
      },
    },
    { kind: 'planned', steps: ['sysctl', 'containerd', 'kubeadm', 'readiness'] },
    {
      kind: 'stepDone',
      step: 'sysctl',
      end: { state: 'Succeeded', changes: ['sysctl/net.ipv4.ip_forward', 'sysctl/boot-file'], durationMs: 35 },
    },
    { kind: 'stepDone', step: 'containerd', end: { state: 'Unchanged', changes: [], durationMs: 4200 } },
    { kind: 'warning', message: 'the clock was 90 s behind' },
    { kind: 'attemptFailed', attempt: { attempt: 1, failure: FAILURE, durationMs: 61_000 } },
    { kind: 'stepDone', step: 'kubeadm', end: { state: 'Failed', changes: [], durationMs: 241_000 } },
    { kind: 'stepDone', step: 'readiness', end: { state: 'Skipped', changes: [], durationMs: 0 } },
    {
      kind: 'concluded',
      conclusion: {
        outcome: 'Failed',
        exitCode: 11,
        failure: {
          ...FAILURE,
          field: 'host.swap',
          position: { file: '/etc/machineadm/bootstrap.yaml', line: 14, column: 9 },
          causes: ['SwapEnabled', 'KubeletNotHealthy'],
        },
      },
    },
  ),
  document: { sha256: 'a'.repeat(64), sources: ['/etc/machineadm/bootstrap.yaml'] },
  timeline: TIMELINE,
  reports: [
    {
      sink: 'hook',
      type: 'Webhook',
      target: 'https://ops.example/hook',
      state: 'Pending',
      pending: 3,
      updatedAt: '2026-11-20T10:04:59Z',
      message: 'connection refused',
    },
  ],
};

const FACTS: PageContent['facts'] = {
  architecture: 'x64',
  os: { id: 'debian', version: '12' },
  kernel: '6.1.0-28-amd64',
  serviceManager: 'systemd',
  hostname: 'prod-a-worker-0',
  machineId: '0123456789abcdef0123456789abcdef',
  bootId: '6f2c1b1e-0000-4000-8000-000000000000',
  cloudInstanceId: 'i-0abc',
  nodeAddresses: ['10.0.0.7', 'fd00::7'],
  containerd: { major: 1, minor: 7, patch: 24, text: '1.7.24' },
  kubeadm: undefined,
  kubelet: { major: 1, minor: 35, patch: 2, text: 'v1.35.2' },
};

const LONG_LINE = `E1120 10:04:12.000000    4711 run.go:72] "command failed" err="${'failed to run Kubelet: running with swap on is not supported '.repeat(6)}/${'x'.repeat(300)}"`;

/** The page of a bundle, with every section. */
export const WHOLE: PageContent = {
  ...BASE,
  status: FAILED,
  facts: FACTS,
  verdict: {
    outcome: 'failure',
    reason: 'SwapEnabled',
    summary: 'Swap is on.',
    remedy: 'Set host.swap to Disabled.',
    causes: ['SwapEnabled', 'KubeletNotHealthy'],
    evidence: [{ source: 'journal of kubelet', line: 812, text: LONG_LINE }],
  },
  checks: [
    { state: 'ok', text: '/dev/sda1 has 12 GiB free' },
    { state: 'failed', text: 'swap is on: /dev/sda2', remedy: 'Set host.swap to Disabled.' },
    { state: 'warning', text: 'no time service runs' },
    { state: 'skipped', text: 'endpoint: not answered within 15 s' },
  ],
  plan: [{ step: 'swap', summary: 'turn swap off: /dev/sda2' }],
  files: ['status.json', 'logs/kubelet.service.log'],
};

const { outcome, exitCode, failure, ...UNFINISHED } = FAILED;

/** Pages of all kinds, by what is special about them. */
export const PAGES: Readonly<Record<string, PageContent>> = {
  'a failed run, in a bundle': WHOLE,
  'a run that succeeded': {
    ...BASE,
    facts: FACTS,
    status: { ...UNFINISHED, phase: 'Concluded', outcome: 'Succeeded', exitCode: 0 },
  },
  'a run that goes on': {
    ...BASE,
    status: { ...UNFINISHED, phase: 'Kubernetes', step: 'kubeadm', waitingFor: 'the API server' },
  },
  'a public summary': { ...BASE, status: summaryOf(FAILED) },
  'a machine where nothing ever ran': { ...BASE, checks: [{ state: 'ok', text: 'fine' }] },
};
