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
  { source: 'kubelet', origin: 'another kubelet', text: 'kubelet_node_status.go:81] "Successfully registered node"' },
  { source: 'container', origin: 'log of container etcd', text: '{"level":"info","msg":"promote member"}' },
  {
    source: 'container',
    origin: 'log of container kube-apiserver',
    text: 'I1128 01:26:30.213339       1 secure_serving.go:214] Serving securely on [::]:6443',
  },
];

/** What is decided for each entry, by hand: a run that tries again in vain, or a reset too many, is expensive. */
describe('the catalogue decides', () => {
  const ids = (chosen: readonly { readonly id: string }[]) => chosen.map(({ id }) => id).sort();
  const recorded = (words: string) => words.trim().split(/\s+/).sort();

  test('which failures may be temporary', () => {
    const expected = recorded(`
      preflight-cri-not-ready cri-socket-missing cri-socket-timeout cri-not-running-legacy sandbox-image
      sandbox-image-mismatch preflight-external-etcd-unreachable cfg-deprecated-api cfg-version-offline
      cfg-no-route image-dns image-unreachable image-429 proxyconnect image-generic disc-dns disc-refused
      disc-timeout disc-no-answer disc-lb-unhealthy disc-apiserver-unavailable disc-clock-before
      cert-not-yet-valid proxy-warning disc-cluster-info-missing disc-kubeadm-config-missing
      kubelet-apiserver-unreachable kubelet-config-lenient kubelet-not-enabled tls-bootstrap-timeout
      tls-bootstrap-timeout-alone node-annotate-timeout admission-webhook static-pod-image
      cp-upload-transient cp-admin-bootstrap apiserver-etcd-timeout apiserver-etcd-refused
      etcd-check-unhealthy etcd-endpoints etcd-learner-not-synced etcd-member-not-started
      etcd-promote-already etcd-too-many-learners etcd-not-enough-started etcd-no-leader etcd-not-available
      etcd-peer-unreachable etcd-slow-disk hostname-warning swap-warning firewalld-warning fact-clock
      fact-endpoint-name fact-endpoint-refused fact-own-port-blocked fact-etcd-port-blocked
      fact-endpoint-timeout fact-endpoint-etcd fact-endpoint-early fact-endpoint-other-server
      unit-kubelet-killed unit-containerd-killed unit-kubelet-stopped unit-containerd-stopped
      unit-static-pod-killed unit-controller-ends package-lock-held package-lock
    `);
    assert.deepEqual(ids(CATALOGUE.filter(({ retryable }) => retryable)), expected);
  });

  test('after which ones the node is reset first', () => {
    const expected = recorded(`
      cri-socket-other cgroupspath-systemd cgroup-driver-docker runc-missing container-command-missing shim-killed crun-too-old crun-hybrid-cgroups
      oci-create-failed api-x509-generic csr-unauthorized csr-forbidden certkey-expired certkey-forbidden
      certkey-mismatch kubelet-unhealthy kubelet-unhealthy-stdout kubelet-check-legacy
      bootstrap-kubeconfig-missing kubelet-swap kubelet-cgroup-v1 kubelet-config-decode kubelet-unknown-flag
      component-feature-gate kernel-defaults resolv-conf-missing node-name-conflict tls-bootstrap-timeout
      tls-bootstrap-timeout-alone node-annotate-timeout node-identity-mismatch disk-pressure memory-pressure
      hostpath-type static-pod-admission cp-component-unhealthy cp-wait-failed cp-api-check-legacy
      cp-admin-bootstrap component-unknown-flag apiserver-audit-policy apiserver-audit-policy-invalid
      apiserver-encryption component-bind component-bind-addr apiserver-etcd-refused etcd-endpoints
      etcd-too-many-learners etcd-not-enough-started etcd-no-leader oom-kill oom-kill-unit oom-kill-pod
      thread-limit open-files-limit exec-format cgroup-read-only kubelet-read-only selinux-denied
      fact-certificate-expired fact-certificate-stale fact-own-port-blocked fact-etcd-port-blocked
      fact-endpoint-untrusted fact-etcd-silent unit-kubelet-drop-in unit-out-of-memory unit-kubelet-killed
      unit-static-pod-memory unit-static-pod-not-started unit-static-pod-killed unit-static-pod-ends unit-kubelet-given-up
      unit-kubelet-ends kubelet-windows-settings kubelet-works-unreached own-api-server-timeout node-refused
      localhost-elsewhere task-oom end-node-label end-kubelet-locked-gate end-component-locked-gate
      end-kubelet-credential-provider end-component-credential-provider end-kubelet-limited-swap
      end-component-limited-swap end-reserved-cgroup end-container-manager end-kubelet-admission-plugin
      end-component-admission-plugin end-file-missing end-address end-program-missing
      end-component-context-deadline end-kubelet-with-error end-component-with-error end-etcd-again
      end-component-again
    `);
    assert.deepEqual(ids(CATALOGUE.filter(({ cleanup }) => cleanup === 'reset')), expected);
  });

  test('after which ones its member of etcd is removed, too', () => {
    const expected = recorded(`
      etcd-learner-not-synced etcd-member-not-started etcd-peer-exists etcd-local-name etcd-not-available
      etcd-peer-unreachable etcd-member-count etcd-member-removed etcd-cluster-id etcd-peer-tls
      etcd-voter-left
    `);
    assert.deepEqual(ids(CATALOGUE.filter(({ cleanup }) => cleanup === 'reset+member')), expected);
  });
});

describe('every entry of the catalogue', () => {
  test('has an id of its own', () => {
    const ids = [...CATALOGUE, ...NOISE].map((entry) => entry.id);
    assert.deepEqual(
      ids.filter((id, index) => ids.indexOf(id) !== index),
      [],
    );
    for (const id of ids) assert.match(id, /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/);
  });

  test('has a reference to where its line comes from', () => {
    for (const { id, reference } of [...CATALOGUE, ...NOISE]) assert.match(reference, /[a-z]{3}/, id);
  });

  for (const entry of CATALOGUE) {
    test(`${entry.id} matches its example and takes precedence for it`, () => {
      assert.match(cleanLine(entry.example), entry.pattern);
      const example: ObservedLine = { source: entry.source, origin: entry.source, text: entry.example };
      const started: ObservedLine = {
        source: 'kubeadm',
        origin: 'kubeadm',
        text: entry.onlyWithoutKubeadm === true ? '' : '[kubelet-start] Starting the kubelet',
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
