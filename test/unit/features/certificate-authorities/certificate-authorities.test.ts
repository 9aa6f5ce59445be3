import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import {
  certificateAuthorities,
  certificateAuthoritiesStep,
} from '../../../../src/features/certificate-authorities/index.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { selfSigned } from '../../../support/certificates.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryHost, type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const HOUR = 3_600_000;

function certificate(commonName: string, different: { readonly authority?: boolean; readonly ageHours?: number } = {}) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const begin = Date.now() - (different.ageHours ?? 1) * HOUR;
  const validity = { notBefore: new Date(begin), notAfter: new Date(begin + 24 * HOUR) };
  return selfSigned({ key: privateKey, publicKey, ...validity, authority: different.authority ?? true, commonName });
}

const CORP = certificate('corp');
const OTHER = certificate('other');

const documentOf = (...entries: readonly (readonly [name: string, pem: string])[]): Model =>
  hostModel({ certificateAuthorities: entries.map(([name, pem]) => ({ name, pem })) });

interface Layout {
  readonly os: string;
  readonly directory: string;
  readonly bundle: string;
  readonly program: string;
  readonly extension: string;
  readonly marks: readonly string[];
}

/** The stores of the systems, as their packages lay them out. */
const LAYOUTS: readonly Layout[] = [
  {
    os: 'debian',
    directory: '/usr/local/share/ca-certificates',
    bundle: '/etc/ssl/certs/ca-certificates.crt',
    program: 'update-ca-certificates',
    extension: '.crt',
    marks: ['/usr/local/share/ca-certificates', '/etc/ssl/certs'],
  },
  {
    os: 'alpine',
    directory: '/usr/local/share/ca-certificates',
    bundle: '/etc/ssl/certs/ca-certificates.crt',
    program: 'update-ca-certificates',
    extension: '.crt',
    marks: ['/etc/ssl/certs'],
  },
  {
    os: 'flatcar',
    directory: '/etc/ssl/certs',
    bundle: '/etc/ssl/certs/ca-certificates.crt',
    program: 'update-ca-certificates',
    extension: '.pem',
    marks: ['/etc/ssl/certs'],
  },
  {
    os: 'rocky',
    directory: '/etc/pki/ca-trust/source/anchors',
    bundle: '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
    program: 'update-ca-trust',
    extension: '.pem',
    marks: ['/etc/pki/ca-trust/source', '/etc/pki/ca-trust/source/anchors'],
  },
  {
    os: 'sles',
    directory: '/etc/pki/trust/anchors',
    bundle: '/var/lib/ca-certificates/ca-bundle.pem',
    program: 'update-ca-certificates',
    extension: '.pem',
    marks: ['/etc/pki/trust/anchors', '/etc/pki/trust', '/etc/ssl/certs'],
  },
];

/** A machine of a layout, whose program does what the real one does: the bundle is what lies in the directory. */
function machineOf(layout: Layout, machine: MemoryMachine = {}): MemoryHost {
  const rebuild = async (_: unknown, host: MemoryHost) => {
    const names = ((await host.list(layout.directory)) ?? []).filter((name) => name.endsWith(layout.extension));
    host.put(layout.bundle, names.map((name) => host.text(`${layout.directory}/${name}`)).join(''));
    return {};
  };
  const directories = layout.marks.map((path) => [path, { type: 'directory' as const }]);
  return memoryHost({
    programs: { [layout.program]: rebuild },
    ...machine,
    files: { ...Object.fromEntries(directories), ...machine.files },
  });
}

const [DEBIAN] = LAYOUTS;
const onDebian = (machine: MemoryMachine = {}): MemoryHost => machineOf(DEBIAN ?? assert.fail(), machine);
const inDirectory = async (host: MemoryHost) => (await host.list('/usr/local/share/ca-certificates')) ?? [];

describe('certificate authorities', () => {
  for (const layout of LAYOUTS) {
    test(`get into the store of ${layout.os}, and a second run changes nothing`, async () => {
      const host = machineOf(layout);
      const options = { facts: facts({ os: { id: layout.os, version: '1' } }) };
      const run = await runStep(certificateAuthorities, host, documentOf(['corp', CORP]), options);
      assert.equal(run.changes.length, 1);
      assert.equal(run.changes[0]?.scope, 'base');
      const [name = ''] = ((await host.list(layout.directory)) ?? []).filter((one) => one.startsWith('machineadm-'));
      assert.match(name, new RegExp(`^machineadm-corp-[0-9a-f]{8}\\${layout.extension}$`));
      assert.equal((await host.stat(`${layout.directory}/${name}`))?.mode, 0o644);
      assert.ok(host.log.some((line) => line.startsWith(`run ${layout.program}`)));
      assert.deepEqual(run.left, []);
      assert.deepEqual(await planned(certificateAuthorities, host, documentOf(['corp', CORP]), options), []);
    });
  }

  test('of one entry each get a file of their own: the tools take one certificate a file', async () => {
    const host = onDebian();
    const run = await runStep(
      certificateAuthorities,
      host,
      documentOf(['corp', `# the roots\n${CORP}${OTHER}${CORP}`]),
    );
    assert.equal((await inDirectory(host)).length, 2);
    assert.deepEqual(run.left, []);
  });

  test('are written in one form, however they were wrapped', async () => {
    const body = CORP.replaceAll('\n', '').replace(/-----[^-]*-----/g, '');
    const host = onDebian();
    const wrapped = `-----BEGIN CERTIFICATE-----\r\n${body}\r\n-----END CERTIFICATE-----`;
    await runStep(certificateAuthorities, host, documentOf(['corp', wrapped]));
    const [name = ''] = await inDirectory(host);
    assert.equal(host.text(`/usr/local/share/ca-certificates/${name}`), CORP);
  });

  test('that are renewed replace the old one under a new name; those of others stay', async () => {
    const host = onDebian({ files: { '/usr/local/share/ca-certificates/theirs.crt': OTHER } });
    await runStep(certificateAuthorities, host, documentOf(['corp', CORP]));
    const [before] = (await inDirectory(host)).filter((name) => name.startsWith('machineadm-'));
    const run = await runStep(certificateAuthorities, host, documentOf(['corp', certificate('corp')]));
    assert.deepEqual(
      run.changes.map(({ id }) => id.split('/').length),
      [2, 3],
      'one is added, one removed',
    );
    const now = await inDirectory(host);
    assert.equal(now.length, 2);
    assert.ok(now.includes('theirs.crt') && !now.includes(before ?? ''));
    assert.deepEqual(run.left, []);
  });

  test('that lie in place but are not in the bundle are made to be', async () => {
    const host = onDebian();
    await runStep(certificateAuthorities, host, documentOf(['corp', CORP]));
    host.put('/etc/ssl/certs/ca-certificates.crt', OTHER);
    const run = await runStep(certificateAuthorities, host, documentOf(['corp', CORP]));
    assert.deepEqual(
      run.changes.map(({ id }) => id),
      ['certificate-authorities/rebuild'],
    );
    assert.deepEqual(run.left, []);
  });

  test('restart containerd, which reads the store when it starts, after the store was made', async () => {
    const host = onDebian({ services: { containerd: { active: true } } });
    await runStep(certificateAuthorities, host, documentOf(['corp', CORP]));
    const did = host.log.filter((line) => /^(run|service) /.test(line));
    assert.deepEqual(did, ['run update-ca-certificates --fresh', 'service restart containerd']);
  });

  test('restart no containerd that does not run', async () => {
    const host = onDebian({ services: { containerd: { active: false } } });
    const run = await runStep(certificateAuthorities, host, documentOf(['corp', CORP]));
    assert.deepEqual(run.changes[0]?.owes, ['update-ca-certificates']);
  });

  test('that a killed run wrote are made effective by the next', async () => {
    const host = onDebian({ services: { containerd: { active: true } } });
    await runStep(certificateAuthorities, host, documentOf(['corp', CORP]));
    host.log.length = 0;
    const record = { ...EMPTY_RECORD, owed: new Set(['update-ca-certificates', 'restart:containerd'] as const) };
    await runStep(certificateAuthorities, host, documentOf(['corp', CORP]), { record });
    assert.ok(host.log.includes('run update-ca-certificates --fresh'));
    assert.ok(host.log.includes('service restart containerd'));
  });
});

describe('what cannot be trusted', () => {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  const damaged = CORP.replace(/\n[A-Za-z0-9+/]{10}/, '\nAAAAAAAAAA');

  for (const [what, pem, says] of [
    ['damaged', damaged, /cannot be read as X\.509/],
    ['of a server', certificate('server', { authority: false }), /not of an authority/],
    ['expired', certificate('old', { ageHours: 48 }), /expired on/],
    ['with its private key', `${CORP}${key}`, /private key/],
    [
      'the second of two, and expired',
      `${CORP}${certificate('old', { ageHours: 48 })}`,
      /certificate 2 of corp expired/,
    ],
  ] as const) {
    test(`is CertificateAuthorityInvalid before any change: ${what}`, async () => {
      const desired = certificateAuthorities.desired(documentOf(['corp', pem]), facts());
      assert.ok(desired);
      const host = onDebian();
      const [missing, ...more] = (await certificateAuthorities.preflight?.(host, desired)) ?? [];
      assert.equal(missing?.reason, 'CertificateAuthorityInvalid');
      assert.match(missing?.what ?? '', says);
      assert.deepEqual(more, []);
      assert.deepEqual(host.log, []);
    });
  }

  test('is checked by the clock', async () => {
    const later = certificateAuthoritiesStep(() => Date.now() + 48 * HOUR);
    const desired = later.desired(documentOf(['corp', CORP]), facts());
    assert.ok(desired);
    assert.equal((await later.preflight?.(onDebian(), desired))?.[0]?.reason, 'CertificateAuthorityInvalid');
  });

  test('is CertificateAuthorityNotTrusted where no program makes a bundle', async () => {
    const desired = certificateAuthorities.desired(documentOf(['corp', CORP]), facts());
    assert.ok(desired);
    const [missing] = (await certificateAuthorities.preflight?.(memoryHost(), desired)) ?? [];
    assert.equal(missing?.reason, 'CertificateAuthorityNotTrusted');
    assert.match(missing?.remedy ?? '', /ca-certificates/);
  });

  test('is CertificateAuthorityNotTrusted when that program fails, with its words', async () => {
    const fails = () => ({ status: 1, stderr: 'openssl: not found\n' });
    const host = onDebian({ programs: { 'update-ca-certificates': fails } });
    await assert.rejects(runStep(certificateAuthorities, host, documentOf(['corp', CORP])), {
      reason: 'CertificateAuthorityNotTrusted',
      evidence: [{ source: 'update-ca-certificates', text: 'openssl: not found' }],
    });
  });

  test('is found by verify when that program left it out', async () => {
    const host = onDebian({ programs: { 'update-ca-certificates': () => ({}) } });
    const run = await runStep(certificateAuthorities, host, documentOf(['corp', CORP]));
    assert.deepEqual(
      run.left.map(({ ineffective }) => ineffective),
      ['CertificateAuthorityNotTrusted'],
    );
  });
});
