import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { certificateAuthorities } from '../../../src/features/certificate-authorities/index.ts';
import { gatherFacts, openHost } from '../../../src/host/index.ts';
import { newAuthority } from '../../support/api-server.ts';
import { keepFewAuthorities } from '../../support/few-authorities.ts';
import { hostModel } from '../../support/host-model.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { planned, runStep } from '../../support/run-step.ts';

const skip = needs('update-ca-certificates', 'openssl');

inThrowAwayMachine(import.meta.filename, () => {
  describe("Debian's own update-ca-certificates", { skip }, () => {
    before(keepFewAuthorities);
    const first = newAuthority('machineadm test 1');
    const second = newAuthority('machineadm test 2');
    const documentOf = (...pems: readonly string[]) =>
      hostModel({ certificateAuthorities: [{ name: 'corp', pem: pems.join('') }] });

    /** Whether OpenSSL, as every program that links it, trusts what this authority issued, by the hashed directory. */
    const isTrusted = (authority: ReturnType<typeof newAuthority>): boolean => {
      writeFileSync('/tmp/issued.crt', authority.issue('server').certificate);
      const args = ['verify', '-no-CAfile', '-no-CAstore', '-CApath', '/etc/ssl/certs', '/tmp/issued.crt'];
      return spawnSync('openssl', args).status === 0;
    };

    test('adds authorities, renews them and removes them', async () => {
      const host = openHost({ runId: 'test' });
      const options = { facts: await gatherFacts(host) };
      assert.equal(isTrusted(first), false);

      const both = documentOf(first.certificate, second.certificate);
      const run = await runStep(certificateAuthorities, host, both, options);
      assert.equal(run.changes.length, 2);
      assert.deepEqual(run.left, []);
      assert.deepEqual(await planned(certificateAuthorities, host, both, options), []);
      assert.equal(isTrusted(first) && isTrusted(second), true);

      const one = documentOf(second.certificate);
      assert.deepEqual((await runStep(certificateAuthorities, host, one, options)).left, []);
      assert.equal(isTrusted(first), false);
      assert.equal(isTrusted(second), true);
      const links = readdirSync('/etc/ssl/certs').filter((name) => name.startsWith('machineadm-'));
      assert.equal(links.length, 1, 'no link to a file that is gone');
    });

    test('is run again when an authority was removed from the bundle', async () => {
      const host = openHost({ runId: 'test' });
      const options = { facts: await gatherFacts(host) };
      const document = documentOf(second.certificate);
      const count = () =>
        execFileSync('grep', ['-c', 'BEGIN', '/etc/ssl/certs/ca-certificates.crt'], { encoding: 'utf8' });
      const before = count();
      writeFileSync('/etc/ssl/certs/ca-certificates.crt', first.certificate);
      const run = await runStep(certificateAuthorities, host, document, options);
      assert.deepEqual(
        run.changes.map(({ id }) => id),
        ['certificate-authorities/rebuild'],
      );
      assert.deepEqual(run.left, []);
      assert.equal(count(), before);
    });
  });
});
