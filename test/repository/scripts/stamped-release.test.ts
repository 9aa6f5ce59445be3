import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { writeStampedRelease } from '../../../scripts/lab/image-archives.ts';

const PROGRAMS = ['kubeadm', 'kubelet', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy'];

describe('a stamped release of the lab', () => {
  let directory: string;
  let kubernetes: string;

  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'stamped-'));
    kubernetes = join(directory, 'kubernetes');
    const put = (path: string, content: string) => {
      mkdirSync(dirname(join(kubernetes, path)), { recursive: true });
      writeFileSync(join(kubernetes, path), content);
    };
    for (const name of PROGRAMS) put(`bin/${name}`, `${name}:v1.20.2v1.20.2-3.3.17-03.4.13-048`);
    for (const path of ['usr/bin/etcd', 'lib/x86_64-linux-gnu/libc.so.6', 'lib/x86_64-linux-gnu/ld-linux-x86-64.so.2'])
      put(`etcd/${path}`, path);
  });
  after(() => rmSync(directory, { recursive: true }));

  const program = (to: string, name: string) => readFileSync(join(to, 'bin', name), 'utf8');

  test('has the version wherever a program had its own, also of the next minor version', () => {
    const to = join(directory, 'minor');
    writeStampedRelease(kubernetes, { version: 'v1.21.2' }, to);
    for (const name of PROGRAMS)
      assert.equal(program(to, name), `${name}:v1.21.2v1.21.2-3.3.17-03.4.13-048`, 'everything else stays');
  });

  test('may bring another etcd, which its kubeadm deploys', () => {
    const to = join(directory, 'etcd');
    writeStampedRelease(kubernetes, { version: 'v1.20.3', etcd: '3.4.14-0' }, to);
    assert.equal(program(to, 'kubeadm'), 'kubeadm:v1.20.3v1.20.3-3.3.17-03.4.14-048');
    assert.match(program(to, 'kubelet'), /3\.4\.13-0/);
    assert.match(readFileSync(join(to, 'images/etcd.tar'), 'latin1'), /"k8s\.gcr\.io\/etcd:3\.4\.14-0"/);
  });

  test('has no version of another length, which the programs have no room for', () => {
    const long = () => writeStampedRelease(kubernetes, { version: 'v1.20.10' }, join(directory, 'long'));
    assert.throws(long, /v1\.20\.10 does not fit into the programs/);
  });
});
