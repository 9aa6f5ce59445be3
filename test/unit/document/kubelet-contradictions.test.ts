import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { problemsOf } from '../../support/document.ts';

const DOCUMENT = (role: string, node: string, more = '') => `kubernetes:
  version: v1.36.2
  role: ${role}
  node: {kubelet: ${node}}
${role === 'Worker' ? '  join: {discovery: {token: {token: abcdef.0123456789abcdef, endpoint: "10.0.0.1:6443", unsafeSkipCAVerification: true}}}\n' : ''}${more}`;
const init = (fields: string): string => DOCUMENT('InitControlPlane', `{config: {${fields}}}`);
const PLACE = 'kubernetes.node.kubelet.config';

describe('fields of the kubelet that contradict each other are refused where they are written', () => {
  for (const [fields, field, message] of [
    ['staticPodPath: /etc/kubernetes/static', 'staticPodPath', /written to \/etc\/kubernetes\/manifests/],
    ['cpuManagerPolicy: static', 'cpuManagerPolicy', /reserved for the system \(hint: set reservedSystemCPUs/],
    ['cpuManagerPolicy: static, kubeReserved: {cpu: 0m}', 'cpuManagerPolicy', /reserved for the system/],
    ['memoryManagerPolicy: Static', 'memoryManagerPolicy', /needs reservedMemory/],
    ['imageGCLowThresholdPercent: 90', 'imageGCLowThresholdPercent', /\(90\) must be below .* \(85\)/],
    ['imageGCHighThresholdPercent: 70', 'imageGCHighThresholdPercent', /\(80\) must be below .* \(70\)/],
    ['imageMaximumGCAge: 1m', 'imageMaximumGCAge', /longer than imageMinimumGCAge/],
    ['maxParallelImagePulls: 5', 'maxParallelImagePulls', /serializeImagePulls: false/],
    ['systemCgroups: /system.slice', 'systemCgroups', /needs cgroupRoot/],
    [
      'shutdownGracePeriod: 10s, shutdownGracePeriodCriticalPods: 20s',
      'shutdownGracePeriodCriticalPods',
      /not be longer/,
    ],
    ['shutdownGracePeriod: 500ms', 'shutdownGracePeriod', /at least 1s/],
    [
      'shutdownGracePeriod: 10s, shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 5}]',
      'shutdownGracePeriodByPodPriority',
      /keep one of them/,
    ],
    ['enforceNodeAllocatable: [pods, system-reserved]', 'enforceNodeAllocatable', /needs systemReservedCgroup/],
    ['enforceNodeAllocatable: [pods, pods]', 'enforceNodeAllocatable', /"pods" is given twice/],
    ['enforceNodeAllocatable: [none, pods]', 'enforceNodeAllocatable', /"none" cannot be used with others/],
    [
      'enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible], kubeReservedCgroup: /k',
      'enforceNodeAllocatable',
      /cannot be used together/,
    ],
    ['cgroupsPerQOS: false', 'cgroupsPerQOS', /set enforceNodeAllocatable: \[\]/],
    ['reservedSystemCPUs: "0", kubeReservedCgroup: /k', 'reservedSystemCPUs', /together with kubeReservedCgroup/],
    [
      'enableSystemLogQuery: true, enableSystemLogHandler: false',
      'enableSystemLogQuery',
      /needs enableSystemLogHandler/,
    ],
    ['tlsCertFile: /etc/a.crt', 'tlsCertFile', /belong together/],
    ['podLogsDir: /var/log/pods/', 'podLogsDir', /absolute path/],
    ['readOnlyPort: 10250', 'readOnlyPort', /both 10250/],
    ['port: 10248', 'port', /healthzPort and port are both 10248/],
    ['evictionHard: {memory.avaliable: 5%}', 'evictionHard', /no eviction signal "memory.avaliable"/],
    ['evictionSoft: {memory.available: 5%}', 'evictionSoft', /needs a grace period/],
  ] as const) {
    test(fields, async () => {
      const problems = await problemsOf(init(fields));
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.ok(problems[0]?.includes(`${PLACE}.${field}: `), problems[0]);
      assert.match(problems[0] ?? '', message);
    });
  }

  test('also in a document beside that of kubeadm', async () => {
    const document = DOCUMENT(
      'InitControlPlane',
      '{}',
      '  bootstrapper: {kubeadm: {extraDocuments: [{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, tlsCertFile: /a}]}}\n',
    );
    const [problem] = await problemsOf(document);
    assert.match(problem ?? '', /extraDocuments\[0\]\.tlsCertFile: .*belong together/);
  });

  for (const [what, document] of [
    ['what belongs together', init('cpuManagerPolicy: static, reservedSystemCPUs: "0,1", memoryManagerPolicy: None')],
    ['a reservation', init('cpuManagerPolicy: static, systemReserved: {cpu: 100m}')],
    ['parallel pulls', init('maxParallelImagePulls: 5, serializeImagePulls: false')],
    ['cgroups', init('enforceNodeAllocatable: [pods, system-reserved], systemReservedCgroup: /system.slice')],
    ['no quality of service', init('cgroupsPerQOS: false, enforceNodeAllocatable: []')],
    ['thresholds', init('evictionSoft: {memory.available: 5%}, evictionSoftGracePeriod: {memory.available: 1m}')],
    ['the directory of kubeadm, written otherwise', init('staticPodPath: /etc/kubernetes//manifests/')],
    ['another directory where nothing is written to it', DOCUMENT('Worker', '{config: {staticPodPath: /etc/pods}}')],
    [
      'an argument that settles it',
      DOCUMENT(
        'InitControlPlane',
        '{config: {cpuManagerPolicy: static}, args: [{name: kube-reserved, value: "cpu=100m"}]}',
      ),
    ],
  ] as const) {
    test(`nothing is wrong with ${what}`, async () => assert.deepEqual(await problemsOf(document), []));
  }
});
