import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { classify, cleanLine, type ObservedLine } from '@machineadm/failures/classify.ts';
import { verdict } from '@machineadm/failures/verdict.ts';
import { capturedTranscripts } from './transcripts.ts';

describe('captured kubeadm runs', () => {
  for (const { name, how, expected, lines } of capturedTranscripts()) {
    if (expected.outcome === 'failure') {
      test(`${name} is ${expected.reason}: ${how}`, () => {
        const { outcome, reason, retryable, evidence } = verdict({ lines });
        assert.equal(outcome, 'failure');
        assert.equal(reason, expected.reason, evidence[0]?.text);
        assert.equal(retryable, expected.retryable);
        assert.ok(evidence.length > 0);
      });
    } else {
      test(`${name} succeeded: ${how}`, () => {
        assert.equal(verdict({ lines }).outcome, 'success');
        assert.equal(verdict({ lines }).reason, '');
      });
    }
  }
});

const kubeadm = (text: string): ObservedLine => ({ source: 'kubeadm', origin: 'kubeadm', text });
const kubelet = (text: string): ObservedLine => ({ source: 'kubelet', origin: 'journal of kubelet', text });
const unit = (text: string): ObservedLine => ({ source: 'unit', origin: 'service manager', text });
const STARTED = kubeadm('[kubelet-start] Starting the kubelet');

describe('the cause of a failure is', () => {
  test('the cause in the kubelet journal, not the symptom that kubeadm prints last', () => {
    const { best, others } = classify([
      STARTED,
      kubeadm('[kubelet-check] The kubelet is not healthy after 4m0.000751466s'),
      kubeadm('error: error execution phase wait-control-plane: failed while waiting for the control plane to start'),
      kubelet('E1120 run.go:72] "command failed" err="failed to run Kubelet: running with swap on is not supported"'),
    ]);
    assert.equal(best?.entry.reason, 'SwapEnabled');
    assert.deepEqual(
      others.map((other) => other.entry.reason),
      ['KubeletNotHealthy', 'ControlPlaneComponentNotHealthy'],
    );
  });

  test('not the kubelet that kubeadm itself stopped and has not started again', () => {
    const stopped: ObservedLine = {
      source: 'unit',
      origin: 'service manager',
      text: 'kubelet.service: stopped (inactive)',
    };
    const writing = kubeadm('[kubelet-start] Writing kubelet environment file with flags to file "/var/lib/kubelet/x"');
    const failed = kubeadm('error execution phase kubelet-start: open /var/lib/kubelet/x: read-only file system');
    assert.equal(classify([stopped, writing, failed]).best?.entry.reason, 'ReadOnlyFilesystem');
    const waiting = kubeadm('[kubelet-check] The kubelet is not healthy after 4m0.000751466s');
    assert.equal(classify([stopped, writing, STARTED, waiting]).best?.entry.reason, 'KubeletStopped');
  });

  test('what a component said before it ended, not the word of kubeadm that it did not start', () => {
    const start = 'error: error execution phase etcd-join: error creating local etcd static pod manifest file:';
    const waited = [STARTED, kubeadm(`${start} the etcd member bb0e610d42f5398a is not started`)];
    const etcd = (text: string): ObservedLine => ({ source: 'container', origin: 'log of container etcd', text });
    const ended: ObservedLine = {
      source: 'unit',
      origin: 'container runtime',
      text: 'etcd ended 5 times, last with exit status 1',
    };
    const bind =
      '{"level":"error","caller":"embed/etcd.go:587","msg":"creating peer listener failed","error":"listen tcp 10.99.0.202:2380: bind: address already in use"}';
    const cases = [
      [bind, 'PortInUse'],
      ['exec /usr/local/bin/etcd: exec format error', 'ProgramNotExecutable'],
    ] as const;
    for (const [text, reason] of cases) {
      assert.equal(classify([...waited, etcd(text), ended]).best?.entry.reason, reason);
      // It runs on: kubeadm names what it was refused.
      assert.equal(classify([...waited, etcd(text)]).best?.entry.reason, 'EtcdMemberNotStarted');
    }
  });

  test('what the endpoint says of its etcd, not that kubeadm got no answer from it', () => {
    const failed = kubeadm(
      'error: error execution phase preflight: couldn\'t validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get "https://10.99.0.209:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": net/http: request canceled (Client.Timeout exceeded while awaiting headers)',
    );
    const text = 'the API server at 10.99.0.209:6443 answers, but its etcd does not';
    const asked: ObservedLine = { source: 'check', origin: 'network', text };
    assert.equal(classify([failed, asked]).best?.entry.reason, 'EtcdNoLeader');
    assert.equal(classify([failed]).best?.entry.reason, 'APIEndpointTimeout');
  });

  test('the symptom where no cause was found', () => {
    const { best } = classify([STARTED, kubeadm('[kubelet-check] The kubelet is not healthy after 4m0s')]);
    assert.equal(best?.entry.reason, 'KubeletNotHealthy');
  });

  test('nothing where no cause is known, rather than a guess', () => {
    assert.equal(
      classify([kubeadm('error execution phase addon/coredns: the moon is in the wrong house')]).best,
      undefined,
    );
  });

  test('not an error that kubeadm was going to retry', () => {
    const { best } = classify([
      kubeadm(
        'I1120 token.go:223] [discovery] Failed to request cluster-info, will try again: Get "https://10.0.0.10:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": dial tcp 10.0.0.10:6443: connect: connection refused',
      ),
      kubeadm(
        'error execution phase preflight: could not find a JWS signature in the cluster-info ConfigMap for token ID "abcdef"',
      ),
    ]);
    assert.equal(best?.entry.reason, 'BootstrapTokenNotFound');
  });

  test('not the error of an earlier attempt, however strong', () => {
    const { best } = classify([
      kubeadm('[preflight] Running pre-flight checks'),
      kubeadm('error execution phase preflight: none of the public keys "sha256:00" are pinned'),
      kubeadm('To see the stack trace of this error execute with --v=5 or higher'),
      kubeadm('[preflight] Running pre-flight checks'),
      kubeadm('\t[ERROR NumCPU]: the number of available CPUs 1 is less than the required 2'),
      kubeadm('To see the stack trace of this error execute with --v=5 or higher'),
    ]);
    assert.equal(best?.entry.reason, 'InsufficientCPU');
  });

  test('not the message of a kubelet that waits for kubeadm, when kubeadm never started it', () => {
    const { best } = classify([
      kubeadm('\t[ERROR NumCPU]: the number of available CPUs 1 is less than the required 2'),
      kubelet(
        'E0708 run.go:74] "command failed" err="failed to parse kubelet flag: unknown flag: --pod-infra-container-image"',
      ),
    ]);
    assert.equal(best?.entry.reason, 'InsufficientCPU');
  });

  test('not the end of a kubelet that waits for kubeadm, when kubeadm failed before it stopped and started it', () => {
    // Output of 1.36.3. The kubelet of Debian's package ends until it has a configuration.
    const { best } = classify([
      kubeadm('[preflight] Running pre-flight checks'),
      kubeadm('[preflight] Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...'),
      kubeadm(
        'error: error execution phase kubelet-start: cannot get Node "w1": nodes "w1" is forbidden: User "system:bootstrap:agnnih" cannot get resource "nodes" in API group "" at the cluster scope',
      ),
      unit('kubelet.service: ends by itself (exit-code), last with exit status 1'),
    ]);
    assert.equal(best?.entry.reason, 'NodeGetForbidden');
  });

  test('not that of a TLS handshake without an answer, when the endpoint was asked and accepts connections', () => {
    // Output of 1.36.3 behind a load balancer that accepts connections and says nothing.
    const { best } = classify([
      kubeadm(
        'error: error execution phase preflight: couldn\'t validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get "https://10.99.0.219:7443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": net/http: TLS handshake timeout (Client.Timeout exceeded while awaiting headers)',
      ),
      {
        source: 'check',
        origin: 'this machine',
        text: 'the API endpoint 10.99.0.219:7443 accepts connections but does not answer as an API server (no answer in time)',
      },
    ]);
    assert.equal(best?.entry.reason, 'APIEndpointLoadBalancerUnhealthy');
  });

  test('not a line that successful runs print as well', () => {
    const { best } = classify([
      STARTED,
      kubelet(
        '"command failed" err="failed to load kubelet config file, path: /var/lib/kubelet/config.yaml, error: open /var/lib/kubelet/config.yaml: no such file or directory"',
      ),
    ]);
    assert.equal(best, undefined);
  });

  test('a kubelet on a busy port 10250 only where the service manager says that one runs', () => {
    const port = kubeadm('\t[ERROR Port-10250]: Port 10250 is in use');
    assert.equal(classify([port]).best?.entry.reason, 'PortInUse');
    // Restarted every ten seconds (10-kubeadm.conf RestartSec=10) and dead at once: it holds no port.
    assert.equal(classify([port, unit('kubelet.service: active (running) for 1 s')]).best?.entry.reason, 'PortInUse');
    assert.equal(
      classify([port, unit('kubelet.service: active (running) for 312 s')]).best?.entry.reason,
      'KubeletAlreadyRunning',
    );
  });
});

describe('a line is read without its prefix from the log format', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['colours', '\u001b[31merror:\u001b[0m broken', 'error: broken'],
    ['carriage returns', 'error: broken\r', 'error: broken'],
    ['the prefix of journalctl -o short', 'Nov 20 17:36:09 lv-54 kubelet[308]: F1120 x', 'F1120 x'],
    ['the prefix of journalctl -o short-iso', '2026-11-20T17:36:09+00:00 lv-54 kubelet[308]: F1120 x', 'F1120 x'],
    ['the prefix of a CRI log', '2026-11-20T17:57:58.149393095Z stderr F Error: broken', 'Error: broken'],
    ['indentation', '\t[ERROR Swap]: on', '[ERROR Swap]: on'],
  ];
  for (const [what, raw, clean] of cases) test(what, () => assert.equal(cleanLine(raw), clean));
});
