import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { verdict } from '@machineadm/failures/verdict.ts';

/** Captured from crun 1.8.1 with containerd 1.6.20 and 2.1.9. */
const CASES: readonly (readonly [string, string, string])[] = [
  [
    'a program that the image does not have',
    'OCI runtime create failed: executable file `kube-apiserver` not found in $PATH: No such file or directory: unknown',
    'ContainerCommandNotFound',
  ],
  [
    'a program of another architecture',
    '{"msg":"exec container process `/usr/local/bin/kube-apiserver`: Exec format error","level":"error","time":"2026-11-28T08:40:55.665242Z"}',
    'ProgramNotExecutable',
  ],
  [
    'a runtime at a path where nothing is',
    'OCI runtime create failed: unable to retrieve OCI runtime error (open /run/containerd/io.containerd.runtime.v2.task/k8s.io/c5/log.json: no such file or directory): fork/exec /usr/bin/crun: no such file or directory: unknown',
    'OCIRuntimeMissing',
  ],
  [
    'a runtime that is not executable',
    'OCI runtime create failed: unable to retrieve OCI runtime error (open /run/containerd/io.containerd.runtime.v2.task/k8s.io/c6/log.json: no such file or directory): fork/exec /usr/bin/crun: permission denied: unknown',
    'ExecutionDenied',
  ],
  [
    'a mount source that is missing',
    "OCI runtime create failed: error stat'ing file `/no/such`: No such file or directory: unknown",
    'OCIRuntimeCreateFailed',
  ],
  [
    'a specification that is too new for it',
    'OCI runtime create failed: unknown version specified',
    'OCIRuntimeCreateFailed',
  ],
];

describe('the messages of crun', () => {
  for (const [what, message, reason] of CASES) {
    test(`name ${what}`, () => {
      const text = `level=error msg="StartContainer for \\"89d2991b\\" failed" error="failed to create containerd task: failed to create shim task: ${message}"`;
      const line = message.startsWith('{')
        ? ({ source: 'container', origin: 'log of container kube-apiserver', text: message } as const)
        : ({ source: 'containerd', origin: 'journal of containerd', text } as const);
      const found = verdict({ lines: [line] });
      assert.equal(found.reason, reason);
      assert.notEqual(found.remedy ?? '', '');
    });
  }
});
