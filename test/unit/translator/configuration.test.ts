import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readCommandLine } from '@machineadm/translator/service/configuration.ts';

const POD = { POD_NAME: 'translator-1', POD_NAMESPACE: 'machineadm-system' };

describe('the command line of the translator', () => {
  test('has defaults for a pod', () => {
    const line = readCommandLine([], POD, '0.1.0');
    assert.ok(line.kind === 'run');
    const { namespace, identity, leaseDurationMs, deadlineMs, caller, providerUsers } = line.configuration;
    assert.deepEqual([namespace, identity], ['machineadm-system', 'translator-1']);
    assert.deepEqual([leaseDurationMs, deadlineMs, caller], [15_000, 8_000, 'Unauthenticated']);
    assert.deepEqual(providerUsers, [
      'system:serviceaccount:capi-kubeadm-bootstrap-system:capi-kubeadm-bootstrap-manager',
    ]);
  });

  test('takes options', () => {
    const args = ['--report-namespace=a', '--report-namespace', 'b', '--deadline=0.5', '--webhook-port=0'];
    const line = readCommandLine([...args, '--namespace=other', '--provider-user=x'], POD, '0.1.0');
    assert.ok(line.kind === 'run');
    const { reportNamespaces, deadlineMs, webhookPort, namespace, providerUsers } = line.configuration;
    assert.deepEqual(
      [reportNamespaces, deadlineMs, webhookPort, namespace, providerUsers],
      [['a', 'b'], 500, 0, 'other', ['x']],
    );
  });

  for (const [args, message] of [
    [['--nonsense'], /nonsense/],
    [['file'], /positional/],
    [['--webhook-port=70000'], /--webhook-port/],
    [['--deadline=soon'], /--deadline/],
    [['--report-namespace=A/B'], /--report-namespace/],
    [['--caller=Nobody'], /--caller/],
    [['--caller=ClientCertificate', '--caller-name=a'], /needs --caller-ca/],
    [['--caller=ClientCertificate', '--caller-ca=a'], /needs --caller-name/],
    [['--caller=Token'], /needs --caller-name/],
  ] as const) {
    test(`${args.join(' ')} is a mistake`, () => {
      const line = readCommandLine(args, POD, '0.1.0');
      assert.ok(line.kind === 'usage');
      assert.match(line.message, message);
    });
  }

  test('outside of a pod the namespace and the identity must be given', () => {
    const line = readCommandLine([], {}, '0.1.0');
    assert.ok(line.kind === 'usage');
    assert.match(line.message, /--namespace.*--identity/);
  });

  test('prints its version, and each option in its help', () => {
    const version = readCommandLine(['--version'], {}, '1.2.3');
    assert.deepEqual(version, { kind: 'print', text: 'machineadm-translator 1.2.3\n' });
    const help = readCommandLine(['--help'], {}, '1.2.3');
    assert.ok(help.kind === 'print');
    assert.match(help.text, /--check-interval/);
  });
});
