import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { KubeconfigUnusable, parseKubeconfig, readKubeconfig } from '../../../../src/host/cluster/kubeconfig.ts';
import { nodeNameOfCertificate } from '../../../../src/host/cluster/kubelet.ts';
import { kubeconfig, newAuthority } from '../../../support/api-server.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const authority = newAuthority();
const kubelet = authority.issue('system:node:node-1');
const PATH = '/etc/kubernetes/kubelet.conf';

describe('a kubeconfig', () => {
  test('that does not exist is no credential', async () => {
    assert.equal(await readKubeconfig(memoryHost(), PATH), undefined);
  });

  test('may name the rotated certificate file, which holds certificate and key in one', async () => {
    const file = '/var/lib/kubelet/pki/kubelet-client-current.pem';
    const files = {
      [PATH]: kubeconfig('https://127.0.0.1:1', authority.certificate, { file }),
      [file]: `${kubelet.certificate}${kubelet.key}`,
    };
    const credential = await readKubeconfig(memoryHost({ files }), PATH);
    assert.equal(nodeNameOfCertificate(credential?.certificate ?? ''), 'node-1');
    assert.equal(String(credential?.key), '[redacted]');
  });

  for (const [what, text, why] of [
    ['is half written', 'apiVersion: v1\nclusters: [', /not valid YAML/],
    ['is empty', '', /no usable current context/],
    [
      'names a certificate that is not there',
      kubeconfig('https://127.0.0.1:1', authority.certificate, { file: '/gone.pem' }),
      /names \/gone\.pem, which does not exist/,
    ],
    ['speaks plain HTTP', kubeconfig('http://127.0.0.1:1', authority.certificate, kubelet), /names no https/],
    [
      'trusts anybody',
      kubeconfig('https://127.0.0.1:1', '', kubelet).replace('server:', 'insecure-skip-tls-verify: true\n    server:'),
      /names no certificate authority/,
    ],
  ] as const) {
    test(`that ${what} is unusable, and the message holds no key`, async () => {
      await assert.rejects(readKubeconfig(memoryHost({ files: { [PATH]: text } }), PATH), (error: Error) => {
        assert.ok(error instanceof KubeconfigUnusable);
        assert.match(error.message, why);
        assert.doesNotMatch(error.message, /BEGIN|PRIVATE/);
        return true;
      });
    });
  }

  test('may hold a token in the place of a certificate, which is a secret', async () => {
    const text = kubeconfig('https://127.0.0.1:1', authority.certificate, { token: 'eyJhbGciOi.token' });
    const credential = await parseKubeconfig(text, 'the kubeconfig');
    assert.equal(credential.token?.reveal(), 'eyJhbGciOi.token');
    assert.equal(credential.certificate, undefined);
    assert.equal(redact('Bearer eyJhbGciOi.token'), 'Bearer [redacted]');
    const host = memoryHost({ files: { [PATH]: text } });
    await assert.rejects(readKubeconfig(host, PATH), /has no client certificate/, "the kubelet's has a certificate");
  });

  for (const [what, text, why] of [
    [
      'names a file, where it may name none',
      kubeconfig('https://127.0.0.1:1', authority.certificate, { file: '/etc/shadow' }),
      /^the kubeconfig names the file \/etc\/shadow; write it in place$/,
    ],
    [
      'leaves the credential to a program',
      kubeconfig('https://127.0.0.1:1', authority.certificate, { exec: 'aws' }),
      /^the kubeconfig has neither a client certificate nor a token$/,
    ],
  ] as const) {
    test(`that ${what} is unusable`, async () => {
      await assert.rejects(parseKubeconfig(text, 'the kubeconfig'), (error: Error) => {
        assert.ok(error instanceof KubeconfigUnusable);
        assert.match(error.message, why);
        return true;
      });
    });
  }
});
